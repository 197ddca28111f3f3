#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// [count] factors of samples: zero for a `rate` of them, each drawn by itself,
/// and 1 / (1 - rate) for the others.
inline Tensor drop_path_factors(int64_t count, double rate,
                                const at::TensorOptions& like) {
  return at::empty({count}, like).bernoulli_(1 - rate).div_(1 - rate);
}

/// Stochastic depth (Huang et al., ECCV 2016) of what a block adds to its input
/// in training: times such factors. [N, ...] -> the same.
inline Tensor drop_path(const Tensor& x, double rate, bool training) {
  if (!training || rate == 0) return x;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  return x * drop_path_factors(x.size(0), rate, x.options()).view(shape);
}

/// The rate of a block: 0 for the first of them, `rate` for the last, linear
/// between.
inline double drop_path_rate(double rate, int64_t block, int64_t count) {
  return count < 2 ? 0.0
                   : rate * static_cast<double>(block) /
                         static_cast<double>(count - 1);
}

}  // namespace kith
