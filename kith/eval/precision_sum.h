#pragma once

#include "kith/eval/metric.h"

namespace kith {

/// Sum of the precisions at the positives among the `limit` nearest: the i-th
/// positive at rank r adds i / r. Divided by the number of positives that
/// counts, it is an average precision.
inline double precision_sum(const RankedQuery& query, int64_t limit) {
  const int64_t hits = query.hits(limit);
  double sum = 0;
  for (int64_t i = 0; i < hits; ++i) {
    sum += static_cast<double>(i + 1) /
           static_cast<double>(query.ranks[static_cast<size_t>(i)]);
  }
  return sum;
}

}  // namespace kith
