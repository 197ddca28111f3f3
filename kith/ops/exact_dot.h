#pragma once

#include "kith/ops/rows/real.h"

namespace kith::KITH_ROWS {

/// x . y, rounded to float32 once. A product of two float32 is exact in double,
/// and the sums are taken in one order everywhere, so every processor gives the
/// same bits, and equal vectors have equal similarities.
KITH_HD float exact_dot(const float* x, const float* y, int64_t dim) {
  constexpr int64_t kLanes = 8;
  double sum[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    KITH_UNROLL
    for (int64_t k = 0; k < kLanes; ++k) {
      sum[k] += static_cast<double>(x[i + k]) * static_cast<double>(y[i + k]);
    }
  }
  for (; i < dim; ++i) {
    sum[0] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
  return static_cast<float>(((sum[0] + sum[4]) + (sum[2] + sum[6])) +
                            ((sum[1] + sum[5]) + (sum[3] + sum[7])));
}

}  // namespace kith::KITH_ROWS
