#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "kith/core/tensor.h"
#include "kith/ops/activation.h"

namespace kith {

/// A convolution without bias and the batch norm behind it, which keeps its
/// statistics.
struct ConvNormWeights {
  Tensor weight;  ///< [out, in / groups, kernel, kernel]
  Tensor gamma;   ///< [out]
  Tensor beta;    ///< [out]
  Tensor mean;    ///< [out]
  Tensor var;     ///< [out]
};

struct ConvNormShape {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t groups = 1;
  double eps = 1e-5;  ///< Of batch norm.
  Activation activation = Activation::kNone;
};

/// Batch norm folded into the convolution (see NormFold), in the type of the
/// maps. It is computed again when one of the weights has changed: the chunks
/// of a step, and all batches of an evaluation, share it.
class FoldedConv {
 public:
  struct Tensors {
    Tensor weight;        ///< As the weight; undefined if within channels.
    Tensor by_place;      ///< [kernel^2, out]; undefined else.
    Tensor bias;          ///< [out], of the type of what is learnt,
    Tensor bias_as_maps;  ///< and of that of the maps.
  };

  /// For maps of type `type`.
  Tensors of(const ConvNormWeights& weights, double eps, bool is_depthwise,
             at::ScalarType type);

 private:
  struct Source {
    const void* data = nullptr;
    int64_t version = -1;
    bool operator==(const Source&) const = default;
  };

  std::mutex mutex_;
  std::array<Source, 5> sources_;
  at::ScalarType type_ = at::ScalarType::Undefined;
  Tensors tensors_;
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
