#include "kith/models/vit_block.h"

#include <array>
#include <cmath>
#include <utility>

#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/models/drop_path.h"
#include "kith/ops/token_products.h"

namespace kith {
namespace {

namespace nn = torch::nn;

TokenActivation activation_of(const VitOptions& options) {
  if (options.mlp == "swiglu") return TokenActivation::kSwiglu;
  if (options.activation == "quick_gelu") return TokenActivation::kQuickGelu;
  if (options.activation == "gelu_tanh") return TokenActivation::kGeluTanh;
  if (options.activation == "relu6") return TokenActivation::kRelu6;
  return TokenActivation::kGelu;
}

/// [N, T, parts heads d] -> parts of [N, heads, T, d]
std::vector<Tensor> by_head(const Tensor& x, int64_t parts, int64_t heads) {
  return x.view({x.size(0), x.size(1), parts, heads, -1})
      .permute({2, 0, 3, 1, 4})
      .unbind();
}

/// [N, heads, T, d] -> [N, T, heads d]
Tensor joined_heads(const Tensor& x) { return x.transpose(1, 2).flatten(2); }

/// A parameter named as LayerScale's of timm; undefined without it.
Tensor add_scale(nn::Module& owner, const std::string& name,
                 const VitOptions& options) {
  if (options.layer_scale == 0) return {};
  return owner.register_module(name, std::make_shared<nn::Module>())
      ->register_parameter("gamma",
                           torch::full({options.width}, options.layer_scale));
}

}  // namespace

nn::LayerNorm vit_norm(const VitOptions& options) {
  return nn::LayerNorm(
      nn::LayerNormOptions({options.width}).eps(options.norm_eps));
}

nn::Linear vit_linear(int64_t in, int64_t out, bool bias) {
  nn::Linear layer(nn::LinearOptions(in, out).bias(bias));
  nn::init::xavier_uniform_(layer->weight);
  if (bias) nn::init::zeros_(layer->bias);
  return layer;
}

VitAttention::VitAttention(const VitOptions& options)
    : heads_(options.heads), key_bias_(options.qkv_bias != "no_key") {
  const int64_t width = options.width;
  qkv_ = register_module(
      "qkv", vit_linear(width, 3 * width, options.qkv_bias != "none"));
  proj_ = register_module("proj", vit_linear(width, width));
}

Tensor VitAttention::qkv_bias() const {
  const Tensor& bias = qkv_->bias;
  if (key_bias_) return bias;
  const int64_t width = bias.size(0) / 3;
  const Tensor none = torch::zeros({width}, bias.options());
  return torch::cat(
      {bias.narrow(0, 0, width), none, bias.narrow(0, 2 * width, width)});
}

Tensor VitAttention::forward(const Tensor& x, const RotaryAngles& rotary) {
  const std::vector<Tensor> qkv =
      by_head(torch::linear(x, qkv_->weight, qkv_bias()), 3, heads_);
  return proj_(joined_heads(attention(rotary(qkv[0]), rotary(qkv[1]), qkv[2])));
}

TokenBranch VitAttention::branch(const Tensor& x, const RotaryAngles& rotary) {
  const std::array<Tensor, 3> qkv =
      token_heads(x, qkv_->weight, qkv_bias(), heads_);
  const Tensor heads = attention(rotary(qkv[0]), rotary(qkv[1]), qkv[2]);
  TokenBranch branch;
  branch.a = token_product(joined_heads(heads), proj_->weight);
  branch.bias = proj_->bias;
  return branch;
}

VitMlp::VitMlp(const VitOptions& options)
    : activation_(activation_of(options)) {
  const int64_t hidden = options.hidden;
  const bool gated = activation_ == TokenActivation::kSwiglu;
  first_ = register_module(
      "fc1", vit_linear(options.width, gated ? 2 * hidden : hidden));
  second_ = register_module("fc2", vit_linear(hidden, options.width));
  dropout_ = register_module("dropout", nn::Dropout(options.dropout));
}

Tensor VitMlp::forward(const Tensor& x) {
  return second_(dropout_(activated(first_(x), activation_)));
}

TokenBranch VitMlp::branch(const Tensor& x) {
  const Tensor hidden = bias_activation(token_product(x, first_->weight),
                                        first_->bias, activation_);
  TokenBranch branch;
  branch.a = token_product(hidden, second_->weight);
  branch.bias = second_->bias;
  return branch;
}

VitBlock::VitBlock(const VitOptions& options, double drop_path)
    : drop_path_(drop_path) {
  norm1_ = register_module("norm1", vit_norm(options));
  attention_ = register_module("attn", std::make_shared<VitAttention>(options));
  scale1_ = add_scale(*this, "ls1", options);
  norm2_ = register_module("norm2", vit_norm(options));
  mlp_ = register_module("mlp", std::make_shared<VitMlp>(options));
  scale2_ = add_scale(*this, "ls2", options);
  dropout_ = register_module("dropout", nn::Dropout(options.dropout));
}

Tensor VitBlock::added(const Tensor& x, const Tensor& scale) {
  const Tensor dropped = dropout_(x);
  return drop_path(scale.defined() ? dropped * scale : dropped, drop_path_,
                   is_training());
}

Tensor VitBlock::forward(const Tensor& x, const RotaryAngles& rotary) {
  const Tensor y = x + added(attention_->forward(norm1_(x), rotary), scale1_);
  return y + added(mlp_->forward(norm2_(y)), scale2_);
}

void VitBlock::add_to(TokenStream& tokens, TokenBranch branch,
                      const Tensor& scale) {
  branch.scale = scale;
  if (is_training() && drop_path_ > 0) {
    branch.factor = drop_path_factors(tokens.x.size(0), drop_path_,
                                      tokens.x.options().requires_grad(false));
  }
  tokens.branch = std::move(branch);
}

void VitBlock::forward(TokenStream& tokens, const RotaryAngles& rotary) {
  const Tensor x = tokens.norm(*norm1_, tokens.type);
  add_to(tokens, attention_->branch(x, rotary), scale1_);
  const Tensor y = tokens.norm(*norm2_, tokens.type);
  add_to(tokens, mlp_->branch(y), scale2_);
}

VitAttentionPool::VitAttentionPool(const VitOptions& options)
    : heads_(options.heads) {
  const int64_t width = options.width;
  latent_ =
      register_parameter("latent", torch::randn({1, 1, width}) /
                                       std::sqrt(static_cast<double>(width)));
  q_ = register_module("q", vit_linear(width, width));
  kv_ = register_module("kv", vit_linear(width, 2 * width));
  proj_ = register_module("proj", vit_linear(width, width));
  norm_ = register_module("norm", vit_norm(options));
  mlp_ = register_module("mlp", std::make_shared<VitMlp>(options));
}

Tensor VitAttentionPool::forward(const Tensor& x) {
  const Tensor query =
      by_head(q_(latent_), 1, heads_)[0].expand({x.size(0), -1, -1, -1});
  const std::vector<Tensor> kv = by_head(kv_(x), 2, heads_);
  const Tensor y = proj_(joined_heads(attention(query, kv[0], kv[1])));
  return (y + mlp_->forward(norm_(y))).squeeze(1);
}

}  // namespace kith
