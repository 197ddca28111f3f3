#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/diagnostics.h"

namespace kith {

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
