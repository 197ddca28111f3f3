#pragma once

#include <array>

#include "kith/core/tensor.h"

namespace kith {

// Linear layers of transformers that compute in the type of their input, which
// may be narrower than that of their weights. The gradient of a weight is
// rounded to the type of products, then widened to the weight's. There is no
// second derivative: to ask for one is an error.

/// x W^T without a bias: [..., in], [out, in] -> [..., out].
Tensor token_product(const Tensor& x, const Tensor& weight);

/// Queries, keys and values [N, heads, T, d] of tokens [N, T, width]: x W^T +
/// b, W [3 heads d, width]; `bias` may be undefined. The three lie in one
/// matrix [N, T, 3, heads, d], and so does its gradient, which is written once,
/// with the gradient of the bias.
std::array<Tensor, 3> token_heads(const Tensor& x, const Tensor& weight,
                                  const Tensor& bias, int64_t heads);

}  // namespace kith
