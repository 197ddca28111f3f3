#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// Standard normal numbers, the same for the same seed.
Tensor random_normal(const std::vector<int64_t>& sizes, uint64_t seed,
                     at::ScalarType type = at::kDouble);

/// Integers of [-limit, limit] as float32: their inner products are exact in
/// any order of summation, and ties are many.
Tensor random_integers(const std::vector<int64_t>& sizes, int64_t limit,
                       uint64_t seed);

Tensor random_permutation(int64_t n, uint64_t seed);

/// [N] int64
Tensor labels_of(const std::vector<int64_t>& values);

/// The largest absolute difference, computed in double on the CPU; infinity if
/// the shapes differ, NaN if either has a NaN.
double max_difference(const Tensor& a, const Tensor& b);

/// Same type, shape and bits.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace kith
