#pragma once

#include "kith/core/tensor.h"
#include "kith/ops/token_kernels.h"

namespace kith {

/// f(u + bias) of the product u [..., width] of a linear layer without its
/// bias [width]; with SwiGLU silu(u1 + bias1) (u2 + bias2) of the halves,
/// [..., width / 2]. The bias may be of a wider type than u. One pass over
/// memory forward and one back, both with the same bits every time. There is no
/// second derivative: to ask for one is an error.
Tensor bias_activation(const Tensor& u, const Tensor& bias,
                       TokenActivation activation);

/// The same by operations of LibTorch, of x = u + bias.
Tensor activated(const Tensor& x, TokenActivation activation);

}  // namespace kith
