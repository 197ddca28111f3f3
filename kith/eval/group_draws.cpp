#include "kith/eval/group_draws.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/eval/class_index.h"

namespace kith {

ClassGroups group_classes(const Tensor& query_labels,
                          const Tensor& gallery_labels, int64_t most) {
  std::vector<int64_t> labels = label_vector(query_labels);
  const size_t queries = labels.size();
  const std::vector<int64_t> items = label_vector(gallery_labels);
  labels.insert(labels.end(), items.begin(), items.end());
  const ClassIndex index = index_classes(labels);
  ClassGroups result;
  result.classes = index.classes();
  result.groups = std::min(most, result.classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t group =
        index.of_item[i] * result.groups / std::max<int64_t>(result.classes, 1);
    (i < queries ? result.of_query : result.of_item).push_back(group);
  }
  return result;
}

Tensor group_draws(int64_t groups, int64_t resamples, uint64_t seed) {
  Tensor draws = torch::zeros({resamples, groups}, torch::kDouble);
  double* count = draws.data_ptr<double>();
  for (int64_t r = 0; r < resamples; ++r, count += groups) {
    Rng rng(seed, Stream::kBootstrap, {r});
    for (int64_t i = 0; i < groups; ++i) {
      ++count[rng.below(static_cast<uint64_t>(groups))];
    }
  }
  return draws;
}

}  // namespace kith
