#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// Whether gem_pool() and max_pool_3x3() can take a map, and layers are to be
/// fused.
bool can_pool(const Tensor& map);

/// Generalised mean of each channel of [N, C, H, W], mean(max(x,
/// floor)^p)^(1/p) with a learnt p [1] -> [N, C] in float32 (of a map in
/// double: double). Two reads of the map in all and one write, for value and
/// gradient; LibTorch's operations make ten maps of four bytes a number.
Tensor gem_pool(const Tensor& map, const Tensor& p, double floor);

/// The largest of 3 x 3 positions, at every second one of [N, C, H, W], whose
/// border is padded by one. It keeps a byte a number for the gradient, where
/// LibTorch keeps eight.
Tensor max_pool_3x3(const Tensor& map);

}  // namespace kith
