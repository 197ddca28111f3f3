#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

/// How a query fares. Positions are those of the gallery, -1 for none; ranks
/// are from 1, 0 for none; other numbers are NaN for none.
struct QueryDiagnosis {
  double average_precision = std::numeric_limits<double>::quiet_NaN();
  int64_t nearest = -1;
  float nearest_similarity = std::numeric_limits<float>::quiet_NaN();
  int64_t nearest_positive_rank = 0;
  int64_t nearest_negative = -1;  ///< None also if it is not among the 1001
                                  ///< nearest items.
  float nearest_negative_similarity = std::numeric_limits<float>::quiet_NaN();
  int64_t farthest_positive = -1;
  int64_t farthest_positive_rank = 0;
  float farthest_positive_similarity = std::numeric_limits<float>::quiet_NaN();
};

struct QueryDiagnoses {
  std::vector<QueryDiagnosis> queries;  ///< [Q]
  /// [N] how often each gallery item is among the k nearest of a query.
  std::vector<int64_t> times_found;
};

/// Searches for every query its nearest items, and ranks its positives. The
/// query itself and its junk are not in the ranking, ties are ordered by
/// position. Memory beside the result stays within about `memory_mb`.
QueryDiagnoses diagnose_queries(const Scored& scored, int64_t k,
                                int64_t memory_mb);

}  // namespace kith
