#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// Whether conv_pool() takes these: float32 on the CPU, pictures of at most
/// four channels and even sides that want no gradient, and 3x3 filters.
bool can_conv_pool(const Tensor& images, const Tensor& weight);

/// A convolution with a border of zeros, and the largest of each 2x2 positions
/// of what it gives: [N, C, H, W], [F, C, 3, 3] -> [N, F, H / 2, W / 2], with
/// the channels last in memory. The gradient is that of `weight`; of equal
/// values the first gets it, and NaN stays NaN, as in LibTorch's pooling.
///
/// The map between the two, which is the largest of a small network, is never
/// written: memory bounds both layers, and arithmetic neither. Sums are over
/// the same groups of pictures however many threads there are.
Tensor conv_pool(const Tensor& images, const Tensor& weight);

}  // namespace kith
