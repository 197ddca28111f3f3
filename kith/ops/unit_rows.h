#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// Whether unit_rows() can take `x`, and layers are to be fused: on a GPU. On
/// the CPU LibTorch's operations take no time beside a network.
bool can_unit_rows(const Tensor& x);

/// normalize_rows() of [N, D] float32 or float64, one pass over memory forward
/// and one back, where LibTorch's operations start twelve kernels and fourteen.
/// The second derivative is by these.
Tensor unit_rows(const Tensor& x);

}  // namespace kith
