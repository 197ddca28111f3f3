#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/eval/metric.h"

namespace kith {

inline bool holds(const std::vector<int64_t>& list, int64_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// Rows that are searched among themselves.
inline ScoredSet set_of(const Tensor& rows, const Tensor& labels = {},
                        int64_t memory_mb = 512) {
  ScoredSet set;
  set.gallery = set.queries = rows;
  set.gallery_labels = set.query_labels = labels;
  set.memory_mb = memory_mb;
  return set;
}

}  // namespace kith
