#pragma once

#include <optional>
#include <string>

#include "cli/bench_batch.h"
#include "cli/measure.h"
#include "kith/index/reranker.h"

namespace kith {

/// A way to search the whole batch among itself: "eval" for the ranks and
/// metrics of evaluate(), "knn" for the nearest neighbours of exact_search();
/// with `rerank` the ranks and metrics after it.
struct SearchBench : BenchBatch {
  std::string what;
  int64_t k = 10;        ///< Neighbours of "knn".
  double seconds = 1.0;  ///< Least time for each of the two timings.
  RerankSteps rerank = {};
};

struct SearchBenchResult {
  Timing time;
  Timing product;  ///< One product of M x M x D in float32, by blocks.
  std::optional<double> extra_memory_mb;
  double recall = 0.0;  ///< recall_any@1
};

SearchBenchResult bench_search(const SearchBench& bench);

}  // namespace kith
