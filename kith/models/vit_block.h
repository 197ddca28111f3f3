#pragma once

#include <memory>

#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "kith/core/tensor.h"
#include "kith/models/token_stream.h"
#include "kith/models/vision_transformer.h"
#include "kith/models/vit_positions.h"
#include "kith/ops/bias_activation.h"

namespace kith {

/// With the epsilon of the options, over the width of the tokens.
torch::nn::LayerNorm vit_norm(const VitOptions& options);

/// A linear layer with weights of Glorot and Bengio (2010), biases zero.
torch::nn::Linear vit_linear(int64_t in, int64_t out, bool bias = true);

/// Self-attention of several heads.
class VitAttention final : public torch::nn::Module {
 public:
  explicit VitAttention(const VitOptions& options);

  /// [N, T, width] -> [N, T, width]
  Tensor forward(const Tensor& x, const RotaryAngles& rotary);

  /// The same of normed tokens in the type of products, as it is to be added.
  TokenBranch branch(const Tensor& x, const RotaryAngles& rotary);

 private:
  Tensor qkv_bias() const;

  int64_t heads_;
  bool key_bias_;
  torch::nn::Linear qkv_{nullptr};
  torch::nn::Linear proj_{nullptr};
};

/// fc2(f(fc1(x))) or, with `swiglu`, fc2(silu(a) b), (a, b) = fc1(x).
class VitMlp final : public torch::nn::Module {
 public:
  explicit VitMlp(const VitOptions& options);

  Tensor forward(const Tensor& x);

  /// The same without dropout, of normed tokens in the type of products, as it
  /// is to be added.
  TokenBranch branch(const Tensor& x);

 private:
  TokenActivation activation_;
  torch::nn::Linear first_{nullptr};
  torch::nn::Linear second_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

/// A block of the network, as VisionTransformer says.
class VitBlock final : public torch::nn::Module {
 public:
  /// `drop_path`: the rate of this block.
  VitBlock(const VitOptions& options, double drop_path);

  Tensor forward(const Tensor& x, const RotaryAngles& rotary);

  /// The same of a stream, if there is no dropout. What the MLP adds waits for
  /// the next norm.
  void forward(TokenStream& tokens, const RotaryAngles& rotary);

 private:
  Tensor added(const Tensor& x, const Tensor& scale);
  void add_to(TokenStream& tokens, TokenBranch branch, const Tensor& scale);

  double drop_path_;
  torch::nn::LayerNorm norm1_{nullptr};
  std::shared_ptr<VitAttention> attention_;
  Tensor scale1_;  ///< [width]; undefined without LayerScale.
  torch::nn::LayerNorm norm2_{nullptr};
  std::shared_ptr<VitMlp> mlp_;
  Tensor scale2_;
  torch::nn::Dropout dropout_{nullptr};
};

/// Attention pooling (SigLIP): a learnt query attends to all patches, and what
/// it gets goes through another MLP.
class VitAttentionPool final : public torch::nn::Module {
 public:
  explicit VitAttentionPool(const VitOptions& options);

  /// [N, T, width] -> [N, width]
  Tensor forward(const Tensor& x);

 private:
  int64_t heads_;
  Tensor latent_;  ///< [1, 1, width]
  torch::nn::Linear q_{nullptr};
  torch::nn::Linear kv_{nullptr};
  torch::nn::Linear proj_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  std::shared_ptr<VitMlp> mlp_;
};

}  // namespace kith
