#pragma once

// exact_dot() by eight neighbouring lanes of a warp, one for each of its
// partial sums: rows are read 32 bytes at a time.

#include <cstdint>

namespace kith {

constexpr int kDotLanes = 8;

/// The bits of exact_dot(), in each of the eight lanes. `lane` is 0 to 7; all
/// lanes of the warp take part, those without a pair with `dim` 0.
__device__ __forceinline__ float exact_dot_of_lanes(const float* x,
                                                    const float* y, int64_t dim,
                                                    int lane) {
  double sum = 0;
  const int64_t whole = dim - dim % kDotLanes;
#pragma unroll 8
  for (int64_t i = lane; i < whole; i += kDotLanes) {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
  if (lane == 0) {
    for (int64_t i = whole; i < dim; ++i) {
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
  }
  // 0 + 4, 2 + 6, ...; then the two pairs of pairs; then these.
  for (int step = kDotLanes / 2; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
  }
  return static_cast<float>(sum);
}

}  // namespace kith
