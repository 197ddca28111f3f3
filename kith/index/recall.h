#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kith/index/vector_index.h"

namespace kith {

/// min(most, count) different positions in [0, count), drawn at random, rising:
/// with rows_at(), what an index is trained with.
std::vector<int64_t> draw_positions(int64_t count, int64_t most, uint64_t seed);

struct RecallOptions {
  int64_t queries = 1000;  ///< Drawn from the rows; at most as many.
  std::vector<int64_t> k = {1, 10};
  uint64_t seed = 0;
};

/// How much of what an exact search finds an index of the same rows, in the
/// same order, finds: for each k, under "k@k", the share of the k nearest that
/// are among the k found. Each query is left out of what it may find. Empty if
/// there are no two rows; a k that has fewer rows than k + 1 is left out.
std::map<std::string, double> measure_recall(const VectorIndex& approximate,
                                             const Rows& rows,
                                             const RecallOptions& options = {});

}  // namespace kith
