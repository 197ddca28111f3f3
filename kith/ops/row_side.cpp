#include "kith/ops/row_side.h"

#include <utility>

#include <torch/torch.h>

#include "kith/ops/half_product.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

/// Positions in the columns as given, by rows as given, -> the same among the
/// sorted ones.
Tensor in_sorted_columns(const Tensor& positions, const RowSide& rows,
                         const RowSide& columns) {
  if (!positions.defined()) return {};
  const Tensor& order = columns.set.order;
  const Tensor place = torch::empty_like(order).index_copy_(
      0, order, torch::arange(order.size(0), order.options()));
  const Tensor mine = positions.index_select(0, rows.set.order);
  if (order.size(0) == 0) return mine;  // -1: none has a place
  return torch::where(mine >= 0, place.index_select(0, mine.clamp_min(0)),
                      mine);
}

/// to = a b, or to += a b.
void add_product(Tensor& to, const Tensor& a, const Tensor& b, bool first) {
  if (first) {
    at::mm_out(to, a, b);
  } else {
    to.addmm_(a, b);
  }
}

/// to = a^T b, or to += a^T b. In TF32 a GPU is slow when both are read across
/// their rows, so there it is the transpose of b^T a, b being small.
void add_turned_product(Tensor& to, const Tensor& a, const Tensor& b,
                        bool first) {
  const bool is_tf32 = to.is_cuda() && to.scalar_type() == at::kFloat &&
                       at::globalContext().allowTF32CuBLAS();
  if (!is_tf32) {
    add_product(to, a.t(), b, first);
    return;
  }
  const Tensor turned = at::mm(b.t().contiguous(), a);
  if (first) {
    to.copy_(turned.t());
  } else {
    to.add_(turned.t());
  }
}

/// What products in fewer bits take of x. Split, a number has 16 bits in the
/// two.
void round_vectors(RowSide& side, RowProducts products) {
  side.high = side.x.to(at::kBFloat16);
  if (products == RowProducts::kFloat16) {
    side.half = side.x.to(at::kHalf);
    return;
  }
  const Tensor low = (side.x - side.high).to(at::kBFloat16);
  side.split = torch::cat({side.high, low, side.high, side.high}, 1);
  side.high = side.split.narrow(1, 0, side.x.size(1));
}

/// The products of two pairs of bfloat16 but that of the low ones, as one.
void split_similarities(Tensor& s, const RowSide& rows, const Stretch& i,
                        const RowSide& columns, const Stretch& j) {
  const int64_t dim = rows.x.size(1);
  const auto of = [&](const RowSide& side, const Stretch& part, int64_t from) {
    return side.split.slice(0, part.begin, part.end).narrow(1, from, 3 * dim);
  };
  // [low high high] [high low high]^T
  multiply_halves(s, of(rows, i, dim), of(columns, j, 0).t());
}

/// to = a b, or to += a b, of bfloat16.
void add_bf16_product(Tensor& to, const Tensor& a, const Tensor& b,
                      bool first) {
  if (first) {
    multiply_halves(to, a, b);
    return;
  }
  Tensor more = torch::empty_like(to);
  multiply_halves(more, a, b);
  to.add_(more);
}

/// dX_I += W X_J, or its first term.
void add_to_rows(RowSides& sides, const Tensor& w, const Stretch& i,
                 const Stretch& j, bool first) {
  const Tensor xi = sides.rows->x.slice(0, i.begin, i.end);
  Tensor di = sides.rows->dx.slice(0, i.begin, i.end);
  const RowSide& others = sides.column_side();
  if (sides.takes_bf16()) {
    add_bf16_product(di, w.to(at::kBFloat16),
                     others.high.slice(0, j.begin, j.end), first);
  } else {
    add_product(di, w, others.x.slice(0, j.begin, j.end), first);
  }
  if (sides.euclidean) {
    di.addcmul_(w.sum({1}, /*keepdim=*/true, xi.scalar_type()), xi, -1);
  }
}

}  // namespace

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

Tensor RowSide::sorted_gradient(int64_t begin, int64_t end) {
  const auto of = [&](const Tensor& t) { return t.slice(0, begin, end); };
  Tensor part = of(dx);
  if (norms.defined()) {
    // One after the other: the product may be out of range.
    part.sub_(of(x) * (of(x) * part).sum(1, /*keepdim=*/true))
        .div_(of(norms))
        .div_(of(scales));
  }
  return part;
}

Tensor RowSide::gradient() {
  // Into the copy, which is not needed more.
  x.index_copy_(0, set.order, sorted_gradient(0, set.examples));
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

RowSides::RowSides(const RowInput& input, bool is_euclidean, RowProducts how,
                   const std::function<void(const RowSides&)>& ahead)
    : euclidean(is_euclidean), products(how) {
  const auto side = [&](const Tensor& vectors, SortedSet set) {
    auto one = std::make_unique<RowSide>(vectors, std::move(set),
                                         input.normalize, euclidean);
    if (takes_bf16()) round_vectors(*one, products);
    return one;
  };
  if (!input.columns.defined()) {
    SortedBatch batch = sort_batch(input.row_labels, input.mixed);
    rows = side(input.rows, std::move(batch.set));
    ahead(*this);
    batch.finish();
    ranges = batch.ranges;
    example_ranges = batch.example_ranges;
    without_positives = ranges.alone;
    return;
  }
  rows = side(input.rows, sort_by_label(input.row_labels));
  columns = side(input.columns, sort_by_label(input.column_labels));
  ranges = class_ranges(rows->set.labels, columns->set.labels);
  self = in_sorted_columns(input.self, *rows, *columns);
  target = in_sorted_columns(input.target, *rows, *columns);
  if (!self.defined()) {
    self = torch::full(
        {rows->set.items}, -1,
        input.rows.options().requires_grad(false).dtype(torch::kLong));
  }
  const Tensor positives =
      ranges.last - ranges.first - (self >= 0).to(torch::kLong);
  without_positives = (positives == 0).sum().item<int64_t>();
}

void RowSides::similarities(const Stretch& i, const Stretch& j,
                            Tensor& s) const {
  const RowSide& others = column_side();
  if (products == RowProducts::kBf16Split) {
    split_similarities(s, *rows, i, others, j);
  } else if (rows->half.defined()) {
    multiply_halves(s, rows->half.slice(0, i.begin, i.end),
                    others.half.slice(0, j.begin, j.end).t());
  } else {
    at::mm_out(s, rows->x.slice(0, i.begin, i.end),
               others.x.slice(0, j.begin, j.end).t());
  }
  if (!euclidean) return;
  s.sub_(rows->half_square.slice(0, i.begin, i.end).unsqueeze(1));
  s.sub_(others.half_square.slice(0, j.begin, j.end)).add_(1);
}

void RowSides::add_row_gradient(const Tensor& w, const Stretch& i,
                                const Stretch& j) {
  add_to_rows(*this, w, i, j, /*first=*/j.begin == 0);
}

void RowSides::add_gradient(const Tensor& w, const Stretch& i,
                            const Stretch& j) {
  // Without a database, rows after the first part were columns before.
  add_to_rows(*this, w, i, j,
              /*first=*/j.begin == 0 && (columns || i.begin == 0));
  if (!columns && i.begin == j.begin) return;
  RowSide& others = column_side();
  const Tensor xi = rows->x.slice(0, i.begin, i.end);
  const Tensor xj = others.x.slice(0, j.begin, j.end);
  Tensor dj = others.dx.slice(0, j.begin, j.end);
  if (takes_bf16()) {
    add_bf16_product(dj, w.to(at::kBFloat16).t(),
                     rows->high.slice(0, i.begin, i.end), i.begin == 0);
  } else {
    add_turned_product(dj, w, xi, /*first=*/i.begin == 0);
  }
  if (euclidean) {
    dj.addcmul_(w.sum({0}, /*keepdim=*/false, xj.scalar_type()).unsqueeze(1),
                xj, -1);
  }
}

}  // namespace kith
