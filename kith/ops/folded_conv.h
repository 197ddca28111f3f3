#pragma once

#include <array>
#include <mutex>
#include <optional>

#include <c10/core/DeviceGuard.h>

#include "kith/core/tensor.h"
#include "kith/ops/conv_kernels.h"
#include "kith/ops/fused_way.h"

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

/// Batch norm folded into the convolution (see NormFold), in the type of the
/// maps. It is computed again when one of the weights has changed: the chunks
/// of a step, and all batches of an evaluation, share it. A weight with a graph
/// is made anew for each pass, by adapters, and nothing is kept of it. On the
/// CPU ConvNorm folds by itself.
class FoldedConv {
 public:
  /// What is made of the weight.
  enum class Layout {
    kAsItIs,
    kByPlace,  ///< [kernel^2, out], of a convolution within channels.
    kStem,     ///< stem_weight()
  };

  struct Tensors {
    Tensor weight;        ///< Undefined if by place.
    Tensor by_place;      ///< Undefined else.
    Tensor bias;          ///< [out], of the type of what is learnt,
    Tensor bias_as_maps;  ///< and of that of the maps.
  };

  struct Gradients {
    Tensor weight;
    Tensor gamma;
  };

  /// For maps of type `type`.
  Tensors of(const ConvNormWeights& weights, double eps, Layout layout,
             at::ScalarType type);

  /// Keeps nothing. After a change that no tensor's version tells, as LibTorch
  /// makes running statistics.
  void clear();

  /// Of dL/dw' (laid as of() does it) and dL/db', which is dL/dbeta; `type` is
  /// that of the maps.
  static Gradients gradients(const ConvNormWeights& weights, double eps,
                             Layout layout, at::ScalarType type,
                             const Tensor& to_weight, const Tensor& to_bias);

 private:
  /// Of what a copy was made. It takes no part in the life of the numbers, but
  /// others do not have their storage's address while it is there.
  struct Source {
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage = {};
    const void* numbers = nullptr;
    int64_t version = -1;

    bool is_of(const Tensor& tensor) const;
  };

  void forget();  ///< With the lock.

  std::mutex mutex_;
  std::array<Source, 5> sources_;
  Layout layout_ = Layout::kAsItIs;
  at::ScalarType type_ = at::ScalarType::Undefined;
  Tensors tensors_;
};

/// Calls run(kernels) with those for maps of `type` on the device of `tensor`.
template <class Run>
void with_conv_kernels(const Tensor& tensor, at::ScalarType type,
                       const Run& run) {
  const c10::DeviceGuard guard(tensor.device());
  for_map_type(type, [&]<class T>() {
    run(tensor.is_cuda() ? cuda_conv_kernels<T>() : cpu_conv_kernels<T>());
  });
}

/// Calls run(kernels) with those for maps like `map`.
template <class Run>
void with_conv_kernels(const Tensor& map, const Run& run) {
  with_conv_kernels(map, map.scalar_type(), run);
}

}  // namespace kith
