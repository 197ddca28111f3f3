#include "kith/eval/class_index.h"

#include <algorithm>
#include <numeric>

#include "kith/core/error.h"

namespace kith {

ClassIndex index_classes(const std::vector<int64_t>& labels) {
  std::vector<int64_t> values = labels;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  ClassIndex index;
  index.sizes.resize(values.size());
  index.of_item.reserve(labels.size());
  for (const int64_t label : labels) {
    const auto found = std::lower_bound(values.begin(), values.end(), label);
    index.of_item.push_back(found - values.begin());
    ++index.sizes[static_cast<size_t>(found - values.begin())];
  }
  return index;
}

ClassIndex index_classes(const Tensor& labels) {
  return index_classes(label_vector(labels));
}

std::vector<int64_t> label_vector(const Tensor& labels) {
  if (!labels.defined()) {
    throw DataError(
        "the items have no labels, only lists of which answer which query; "
        "metrics of classes (nmi, intra, tar, ...) need labels: leave them "
        "out");
  }
  const Tensor flat = labels.contiguous();
  const int64_t* data = flat.data_ptr<int64_t>();
  return {data, data + flat.numel()};
}

std::vector<int64_t> items_by_class(const ClassIndex& index) {
  std::vector<int64_t> next(index.sizes.size());  // Place of a class's next.
  std::exclusive_scan(index.sizes.begin(), index.sizes.end(), next.begin(),
                      int64_t{0});
  std::vector<int64_t> items(index.of_item.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const auto own = static_cast<size_t>(index.of_item[i]);
    items[static_cast<size_t>(next[own]++)] = static_cast<int64_t>(i);
  }
  return items;
}

}  // namespace kith
