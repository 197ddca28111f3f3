#pragma once

#include <optional>

#include <torch/nn/modules/normalization.h>

#include "kith/core/tensor.h"
#include "kith/ops/add_norm.h"

namespace kith {

/// Tokens on their way through the blocks of a transformer on a GPU that
/// computes in bfloat16: what a sub-layer adds to them waits for the norm
/// behind it, and both are one pass over memory. The tokens themselves stay in
/// the type of the parameters.
struct TokenStream {
  Tensor x;             ///< [N, T, width]
  TokenBranch branch;   ///< What is to be added; undefined at first.
  at::ScalarType type;  ///< Of products.

  /// Adds the branch, and gives the norm of the sum in `as`.
  Tensor norm(const torch::nn::LayerNormImpl& layer, at::ScalarType as);

  /// Adds the branch.
  void settle();
};

/// The type of products if blocks are to take such a stream of `tokens`: on a
/// GPU within Autocast, if there are kernels.
std::optional<at::ScalarType> stream_type(const Tensor& tokens);

/// While one lives, stream_type() of this thread is `type` on any processor,
/// for comparisons with LibTorch's layers.
class ForcedStream {
 public:
  explicit ForcedStream(at::ScalarType type);
  ~ForcedStream();
  ForcedStream(const ForcedStream&) = delete;
  ForcedStream& operator=(const ForcedStream&) = delete;

 private:
  std::optional<at::ScalarType> before_;
};

}  // namespace kith
