#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

/// How similar queries are to their positives and to all else in the gallery:
/// counts in bins of equal width from -1 to 1, which similarities of unit
/// vectors are clamped to.
struct SimilarityCounts {
  std::vector<int64_t> positive;
  std::vector<int64_t> negative;
  int64_t queries = 0;  ///< That were counted.
};

/// Counts the pairs of every query, or of `most_queries` drawn with the seed,
/// with the whole gallery; a query with itself and junk are not pairs. Blocks
/// of similarities stay within about `memory_mb`.
SimilarityCounts similarity_counts(const Scored& given, int64_t bins,
                                   int64_t most_queries, uint64_t seed,
                                   int64_t memory_mb = 256);

}  // namespace kith
