#include "tests/support/torch/batches.h"

#include <numeric>
#include <set>

#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/losses/row_loss.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {

int64_t LabelledBatch::size() const { return labels.size(0); }

LossInput LabelledBatch::input(at::ScalarType type) const {
  LossInput input;
  input.embeddings = x.to(type);
  input.labels = labels;
  return input;
}

LabelledBatch make_batch(const std::vector<int64_t>& class_sizes, int64_t dim,
                         uint64_t seed) {
  Rng rng(seed, Stream::kSampler);
  std::set<int64_t> taken;
  std::vector<int64_t> labels;
  for (const int64_t size : class_sizes) {
    int64_t label = rng.between(-1000, 1000);
    while (!taken.insert(label).second) label = rng.between(-1000, 1000);
    labels.insert(labels.end(), static_cast<size_t>(size), label);
  }
  rng.shuffle(labels);
  const auto count = static_cast<int64_t>(labels.size());
  LabelledBatch batch;
  batch.name = std::to_string(count) + " of " +
               std::to_string(class_sizes.size()) + " classes, dim " +
               std::to_string(dim) + ", seed " + std::to_string(seed);
  batch.x = normalize_rows(random_normal({count, dim}, seed));
  batch.labels = labels_of(labels);
  return batch;
}

std::vector<LabelledBatch> random_batches() {
  std::vector<LabelledBatch> batches = {
      make_batch({1}, 4, 1),          make_batch({2}, 3, 2),
      make_batch({1, 1}, 3, 3),       make_batch({9}, 5, 4),
      make_batch({30}, 8, 5),         make_batch({1, 1, 1, 1, 1, 1, 1}, 4, 6),
      make_batch({12, 1, 1, 1}, 2, 7)};
  for (uint64_t seed = 10; seed < 18; ++seed) {
    Rng rng(seed, Stream::kStep);
    std::vector<int64_t> sizes = {1};
    const int64_t count = rng.between(5, 40);
    for (int64_t left = count - 1; left > 0; left -= sizes.back()) {
      sizes.push_back(std::min(left, rng.between(1, 7)));
    }
    batches.push_back(make_batch(sizes, rng.between(2, 20), seed));
  }
  return batches;
}

MixedPairs all_pairs(const LabelledBatch& batch, uint64_t seed) {
  return random_pairs(batch.labels, seed, 100000);
}

}  // namespace kith
