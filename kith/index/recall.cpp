#include "kith/index/recall.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/draw.h"

namespace kith {
namespace {

/// Of the k nearest of a query, the share among the first k found that are not
/// the query itself.
double share_found(const int64_t* nearest, const int64_t* found, int64_t width,
                   int64_t own, int64_t k) {
  int64_t right = 0;
  int64_t seen = 0;
  for (int64_t j = 0; j < width && seen < k; ++j) {
    if (found[j] == own) continue;
    ++seen;
    if (found[j] >= 0) right += std::count(nearest, nearest + k, found[j]);
  }
  return static_cast<double>(right) / static_cast<double>(k);
}

}  // namespace

std::vector<int64_t> draw_positions(int64_t count, int64_t most,
                                    uint64_t seed) {
  Rng rng(seed, Stream::kIndex);
  std::vector<int64_t> positions = draw_distinct(count, most, rng);
  std::sort(positions.begin(), positions.end());
  return positions;
}

std::map<std::string, double> measure_recall(const VectorIndex& approximate,
                                             const Rows& rows,
                                             const RecallOptions& options) {
  TORCH_CHECK_VALUE(approximate.count() == rows.count(), "an index of ",
                    approximate.count(), " vectors is not one of ",
                    rows.count(), " rows");
  std::vector<int64_t> ks = options.k;
  std::erase_if(ks, [&](int64_t k) { return k >= rows.count(); });
  if (ks.empty()) return {};
  const int64_t most = *std::max_element(ks.begin(), ks.end());
  const std::vector<int64_t> own =
      draw_positions(rows.count(), options.queries, options.seed);
  const Tensor queries = rows_at(rows, own);
  SearchOptions search;
  search.k = most;
  const Tensor nearest = exact_search(queries, rows.on(at::kCPU),
                                      torch::tensor(own, torch::kLong), search)
                             .indices.contiguous();
  const Tensor found =
      approximate.search(queries, most + 1).indices.contiguous();
  std::map<std::string, double> recall;
  for (const int64_t k : ks) {
    double sum = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      sum += share_found(nearest.data_ptr<int64_t>() + row * nearest.size(1),
                         found.data_ptr<int64_t>() + row * found.size(1),
                         found.size(1), own[i], k);
    }
    const std::string name = std::to_string(k);
    recall[name + "@" + name] = sum / static_cast<double>(own.size());
  }
  return recall;
}

}  // namespace kith
