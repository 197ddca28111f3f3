#include "kith/ops/row_layout.h"

#include <algorithm>
#include <tuple>

#include <torch/torch.h>

#include "kith/ops/gpu.h"
#include "kith/ops/mixed_layout.h"
#include "kith/ops/small_sort.h"

namespace kith {
namespace {

/// Slots, the largest class and the classes of one, which may be on a GPU.
void set_facts(ClassRanges& ranges, const Tensor& facts) {
  const Tensor here = facts.cpu();
  const int64_t* fact = here.data_ptr<int64_t>();
  ranges.slots = fact[0];
  ranges.largest = fact[1];
  ranges.alone = fact[2];
}

}  // namespace

SortedSet sort_by_label(const Tensor& labels) {
  SortedSet set;
  std::tie(set.labels, set.order) = labels.sort(/*stable=*/true, 0, false);
  set.examples = set.items = labels.size(0);
  return set;
}

ClassRanges class_ranges(const Tensor& row_labels,
                         const Tensor& column_labels) {
  ClassRanges ranges;
  ranges.first = torch::searchsorted(column_labels, row_labels);
  ranges.last = torch::searchsorted(column_labels, row_labels,
                                    /*out_int32=*/false, /*right=*/true);
  const Tensor sizes = ranges.last - ranges.first;
  const Tensor ends = sizes.cumsum(0);
  ranges.slot = ends - sizes;
  if (sizes.numel() == 0) return ranges;
  set_facts(ranges, torch::stack({ends[-1], sizes.max(), (sizes == 1).sum()}));
  return ranges;
}

SortedBatch sort_batch(const Tensor& labels, const MixedPairs& mixed) {
  if (mixed.defined()) return sort_mixed(labels, mixed);
  SortedBatch batch;
  const int64_t count = labels.size(0);
  if (!labels.is_cuda() || count == 0 || count > most_for_small_sort()) {
    batch.set = sort_by_label(labels);
    batch.ranges = class_ranges(batch.set.labels, batch.set.labels);
    return batch;
  }
  const Tensor all = torch::empty({4 * count + 3}, labels.options());
  const auto part = [&](int64_t n) {
    return all.narrow(0, n * count, n < 4 ? count : 3);
  };
  const Tensor given = labels.contiguous();
  batch.set.order = part(0);
  batch.set.examples = batch.set.items = count;
  batch.ranges.first = part(1);
  batch.ranges.last = part(2);
  batch.ranges.slot = part(3);
  SmallSort sort;
  sort.labels = given.data_ptr<int64_t>();
  sort.count = count;
  sort.order = batch.set.order.data_ptr<int64_t>();
  sort.first = batch.ranges.first.data_ptr<int64_t>();
  sort.last = batch.ranges.last.data_ptr<int64_t>();
  sort.slot = batch.ranges.slot.data_ptr<int64_t>();
  sort.facts = part(4).data_ptr<int64_t>();
  sort_small_batch(sort, current_stream());
  set_facts(batch.ranges, part(4));
  return batch;
}

std::vector<Stretch> cut(const SortedSet& set, int64_t length) {
  std::vector<Stretch> stretches;
  if (!set.mixed()) {
    for (int64_t begin = 0; begin < set.examples; begin += length) {
      const int64_t end = std::min(begin + length, set.examples);
      stretches.push_back({begin, end, begin, end});
    }
    return stretches;
  }
  Stretch stretch;
  for (const SortedSet::ClassEnd& end : set.classes) {
    if (stretch.end > stretch.begin && end.example - stretch.begin > length) {
      stretches.push_back(stretch);
      stretch = {stretch.end, stretch.end, stretch.item_end, stretch.item_end};
    }
    stretch.end = end.example;
    stretch.item_end = end.item;
  }
  if (stretch.end > stretch.begin) stretches.push_back(stretch);
  return stretches;
}

}  // namespace kith
