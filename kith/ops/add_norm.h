#pragma once

#include <utility>

#include "kith/core/tensor.h"

namespace kith {

/// What a sub-layer of a transformer adds to its tokens [N, T, width]:
/// factor scale (a + bias), of which all but `a` may be undefined.
struct TokenBranch {
  Tensor a;       ///< [N, T, width] in the type of products.
  Tensor bias;    ///< [width] Of the sub-layer's last linear layer.
  Tensor scale;   ///< [width] LayerScale.
  Tensor factor;  ///< [N] Stochastic depth. It has no gradient.
};

/// x plus the branch, by operations of LibTorch.
Tensor add_branch(const Tensor& x, const TokenBranch& branch);

/// A layer's parameters.
struct TokenNorm {
  Tensor gamma;  ///< [width]
  Tensor beta;   ///< [width]
  double eps = 1e-6;
};

/// y = x plus the branch, if that is defined, and LayerNorm of y in `type`.
/// Tokens and parameters have one type, statistics too; `type` is that of
/// products, or the tokens' own. One pass over memory forward and one back,
/// both with the same bits every time. There is no second derivative: to ask
/// for one is an error.
std::pair<Tensor, Tensor> add_norm(const Tensor& x, const TokenBranch& branch,
                                   const TokenNorm& norm, at::ScalarType type);

}  // namespace kith
