#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/embedded_split.h"

namespace kith {

struct NeighbourItem {
  int64_t item = 0;  ///< Position in the data set's list.
  double similarity = 0;
  bool right = false;  ///< A positive of the query.
};

/// The nearest items of some queries of a task, nearest first; `queries` are
/// places in task.queries. The query itself and its junk are not found.
std::vector<std::vector<NeighbourItem>> query_neighbours(
    const EmbeddedSplit& split, const EvalTask& task,
    const std::vector<int64_t>& queries, int64_t k, int64_t memory_mb = 256);

/// `count` places in task.queries, or all, drawn with the seed.
std::vector<int64_t> draw_queries(const EvalTask& task, int64_t count,
                                  uint64_t seed);

}  // namespace kith
