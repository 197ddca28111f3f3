#pragma once

#include "kith/core/tensor.h"
#include "kith/ops/activation.h"
#include "kith/ops/folded_conv.h"

namespace kith {

struct ConvNormShape {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t groups = 1;
  double eps = 1e-5;  ///< Of batch norm.
  Activation activation = Activation::kNone;
};

/// Whether conv_norm_act() can take these, and layers are to be fused.
bool can_conv_norm_act(const Tensor& x, const ConvNormWeights& weights,
                       const ConvNormShape& shape);

/// f(conv(x, w') + b' + shortcut), w' and b' being batch norm folded into the
/// convolution; `shortcut` may be undefined. The result is [N, out, H, W] with
/// channels last, in bfloat16 on a GPU.
///
/// What LibTorch would take four to six passes over the map for is one, and
/// with a library that does it inside of the product none: products of 1x1
/// convolutions with ReLU (cuBLASLt), others with ReLU, with a shortcut or
/// without (cuDNN). Convolutions within channels have kernels of their own:
/// cuDNN's take two to five times what memory would allow. The gradient is one
/// pass over the map for activation and bias, then the two products.
///
/// There is no second derivative: to ask for one is an error.
Tensor conv_norm_act(const Tensor& x, const ConvNormWeights& weights,
                     const ConvNormShape& shape, FoldedConv& folded,
                     const Tensor& shortcut = {});

}  // namespace kith
