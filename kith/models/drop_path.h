#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// Stochastic depth (Huang et al., ECCV 2016) of what a block adds to its input
/// in training: zero for a `rate` of the samples, each drawn by itself, and
/// divided by 1 - rate for the others. [N, ...] -> the same.
inline Tensor drop_path(const Tensor& x, double rate, bool training) {
  if (!training || rate == 0) return x;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  return x * at::empty(shape, x.options()).bernoulli_(1 - rate).div_(1 - rate);
}

/// The rate of a block: 0 for the first of them, `rate` for the last, linear
/// between.
inline double drop_path_rate(double rate, int64_t block, int64_t count) {
  return count < 2 ? 0.0
                   : rate * static_cast<double>(block) /
                         static_cast<double>(count - 1);
}

}  // namespace kith
