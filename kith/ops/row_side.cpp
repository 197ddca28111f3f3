#include "kith/ops/row_side.h"

#include <utility>

#include <torch/torch.h>

#include "kith/ops/pairwise.h"

namespace kith {

RowSide::RowSide(const Tensor& vectors, SortedSet sorted, bool normalize,
                 bool euclidean)
    : set(std::move(sorted)), x(vectors.index_select(0, set.order)) {
  if (normalize) {
    scales = row_scales(x);
    norms = x.div_(scales).norm(2, 1, /*keepdim=*/true);
    norms.masked_fill_(norms == 0, 1);
    x.div_(norms);
  }
  if (euclidean) half_square = x.square().sum(1).mul_(0.5);
}

Tensor RowSide::gradient() {
  if (norms.defined()) {
    // One after the other: the product may be out of range.
    dx.sub_(x * (x * dx).sum(1, /*keepdim=*/true)).div_(norms).div_(scales);
  }
  x.index_copy_(0, set.order, dx);  // into the copy, which is not needed more
  dx = Tensor();
  return std::move(x);
}

MixedItems RowSide::items(const Stretch& part) const {
  MixedItems items;
  items.examples = part.end - part.begin;
  items.items = part.item_end - part.item_begin;
  items.first_parent = set.first_parent.data_ptr<int64_t>() + part.item_begin;
  items.second_parent = set.second_parent.data_ptr<int64_t>() + part.item_begin;
  items.alpha = set.alpha.data_ptr<double>() + part.item_begin;
  items.child_start = set.child_start.data_ptr<int64_t>() + part.begin;
  items.children = set.children.data_ptr<int64_t>();
  items.child_share = set.child_share.data_ptr<double>();
  items.example0 = part.begin;
  items.item0 = part.item_begin;
  return items;
}

}  // namespace kith
