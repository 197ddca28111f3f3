#pragma once

#include "kith/core/tensor.h"

namespace kith {

// The first convolution of a network sees three channels, and with those a GPU
// cannot use its matrix units: of 400 pictures of 224 px the one of ResNet-50
// took 2.7 ms, its weight's gradient 1.7. Every second position of a row is a
// channel of its own here, so that stride 2 on C channels becomes stride 1 on
// 4 C, padded to 16: with kernel k, padding P = (k - 1) / 2 and o = P mod 2
//
//     y[i] = sum over u of w[u] x[2 i - P + u]
//          = sum over a, p of w[2 a + p - o] x[2 (i + a - (P + o) / 2) + p],
//
// rows and columns alike, w being 0 outside of the kernel.

/// Whether a convolution [out, C, k, k] of this stride and padding can be
/// computed so on maps [N, C, height, width].
bool is_stem(const Tensor& weight, int64_t stride, int64_t padding,
             int64_t groups, int64_t height, int64_t width);

/// Pictures [N, C, H, W] -> a map of `type` with channels last,
/// [N, 16, H / 2 + k' - 1, W / 2 + k' - 1], padded for a kernel of k,
/// k' = (k + o + 1) / 2. In one pass; there is no gradient.
Tensor stem_map(const Tensor& images, int64_t kernel, at::ScalarType type);

/// [out, C, k, k] -> [out, 16, k', k']: on a stem_map() without padding and
/// with stride 1 it does what the convolution does.
Tensor stem_weight(const Tensor& weight);

/// What it takes back: [out, 16, k', k'] -> [out, channels, kernel, kernel].
Tensor stem_weight_gradient(const Tensor& gradient, int64_t channels,
                            int64_t kernel);

}  // namespace kith
