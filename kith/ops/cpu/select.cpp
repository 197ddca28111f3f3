#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "kith/ops/exact_dot.h"
#include "kith/ops/select_kernels.h"

namespace kith {
namespace {

constexpr float kNoItem = -std::numeric_limits<float>::infinity();

struct Found {
  float similarity;
  int64_t position;

  bool operator<(const Found& other) const {  // nearer first
    return similarity > other.similarity ||
           (similarity == other.similarity && position < other.position);
  }
};

/// The least similarity of the block that one of the k nearest can have; see
/// cuda/select.cu.
float least_similarity(const SelectBlock& block, int64_t query,
                       const std::vector<float>& row) {
  const auto k = static_cast<size_t>(block.k);
  const float slack = block.slack[query];
  float least = block.nearest[(query + 1) * block.k - 1] - slack;
  if (row.size() >= k) {
    std::vector<float> sorted = row;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    least = std::max(least, sorted[k - 1] - 2 * slack);
  }
  return std::max(least, std::numeric_limits<float>::lowest());
}

void select_row(const SelectBlock& block, int64_t query) {
  float* similarity = block.similarity + query * block.query_stride;
  if (block.exclude != nullptr) {
    const int64_t item = block.exclude[query] - block.item0;
    if (item >= 0 && item < block.items) similarity[item] = kNoItem;
  }
  const std::vector<float> row(similarity, similarity + block.items);
  const float least = least_similarity(block, query, row);
  float* nearest = block.nearest + query * block.k;
  int64_t* position = block.position + query * block.k;
  std::vector<Found> found;
  for (int64_t i = 0; i < block.k && position[i] >= 0; ++i) {
    found.push_back({nearest[i], position[i]});
  }
  for (int64_t item = 0; item < block.items; ++item) {
    if (similarity[item] < least) continue;
    found.push_back(
        {plain::exact_dot(block.queries + query * block.dim,
                          block.gallery + item * block.dim, block.dim),
         block.item0 + item});
  }
  std::sort(found.begin(), found.end());
  const auto count = std::min(block.k, static_cast<int64_t>(found.size()));
  for (int64_t i = 0; i < count; ++i) {
    nearest[i] = found[static_cast<size_t>(i)].similarity;
    position[i] = found[static_cast<size_t>(i)].position;
  }
}

}  // namespace

void select_on_cpu(const SelectBlock& block, const RowLaunch& launch) {
  for (int64_t query = launch.begin; query < launch.end; ++query) {
    select_row(block, query);
  }
}

}  // namespace kith
