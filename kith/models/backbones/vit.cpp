#include <cmath>

#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/models/adapt_weights.h"
#include "kith/models/backbones.h"

namespace kith {
namespace {

namespace nn = torch::nn;

nn::LayerNorm layer_norm(int64_t width) {
  return nn::LayerNorm(nn::LayerNormOptions({width}).eps(1e-6));
}

nn::Linear linear(int64_t in, int64_t out) {
  nn::Linear layer(in, out);
  nn::init::xavier_uniform_(layer->weight);
  nn::init::zeros_(layer->bias);
  return layer;
}

}  // namespace

/// Self-attention of several heads, with the names of nn.MultiheadAttention.
class VisionTransformer::Attention final : public nn::Module {
 public:
  Attention(int64_t width, int64_t heads) : heads_(heads) {
    weight_ =
        register_parameter("in_proj_weight", torch::empty({3 * width, width}));
    nn::init::xavier_uniform_(weight_);
    bias_ = register_parameter("in_proj_bias", torch::zeros({3 * width}));
    out_ = register_module("out_proj", linear(width, width));
  }

  /// [N, T, width] -> [N, T, width]
  Tensor forward(const Tensor& x) {
    const int64_t count = x.size(0), tokens = x.size(1);
    const std::vector<Tensor> qkv =
        torch::linear(x, weight_, bias_)
            .view({count, tokens, 3, heads_, x.size(2) / heads_})
            .permute({2, 0, 3, 1, 4})  // [3, N, heads, T, width / heads]
            .unbind();
    const Tensor mixed = attention(qkv[0], qkv[1], qkv[2]);
    return out_(mixed.transpose(1, 2).reshape({count, tokens, x.size(2)}));
  }

 private:
  int64_t heads_;
  Tensor weight_;
  Tensor bias_;
  nn::Linear out_{nullptr};
};

class VisionTransformer::Block final : public nn::Module {
 public:
  Block(const VitShape& shape, double dropout) {
    norm_1_ = register_module("ln_1", layer_norm(shape.width));
    attention_ =
        register_module("self_attention",
                        std::make_shared<Attention>(shape.width, shape.heads));
    norm_2_ = register_module("ln_2", layer_norm(shape.width));
    // torchvision counts activation and dropout among the layers.
    const auto mlp = register_module("mlp", std::make_shared<nn::Module>());
    first_ = mlp->register_module("0", linear(shape.width, shape.hidden));
    second_ = mlp->register_module("3", linear(shape.hidden, shape.width));
    dropout_ = register_module("dropout", nn::Dropout(dropout));
  }

  Tensor forward(const Tensor& x) {
    const Tensor y = x + dropout_(attention_->forward(norm_1_(x)));
    const Tensor hidden = dropout_(torch::gelu(first_(norm_2_(y))));
    return y + dropout_(second_(hidden));
  }

 private:
  nn::LayerNorm norm_1_{nullptr};
  std::shared_ptr<Attention> attention_;
  nn::LayerNorm norm_2_{nullptr};
  nn::Linear first_{nullptr};
  nn::Linear second_{nullptr};
  nn::Dropout dropout_{nullptr};
};

void VitOptions::describe(OptionSet& set) {
  set.add("dropout", dropout,
          "Part of the activations that training sets to zero.")
      .range(0, 0.99);
}

VisionTransformer::VisionTransformer(const VitShape& shape,
                                     const Options& options,
                                     const BackboneInput& input)
    : shape_(shape),
      channels_(input.channels),
      side_(input.size / shape.patch) {
  const double dropout = checked(options, "vit").dropout;
  if (side_ < 1 || input.size % shape.patch != 0) {
    throw ConfigError("'model.input.size' must be a multiple of the " +
                      std::to_string(shape.patch) +
                      " pixels of a patch of this backbone, got " +
                      std::to_string(input.size));
  }
  class_token_ =
      register_parameter("class_token", torch::zeros({1, 1, shape.width}));
  patches_ = register_module(
      "conv_proj",
      nn::Conv2d(nn::Conv2dOptions(channels_, shape.width, shape.patch)
                     .stride(shape.patch)));
  const auto fan_in =
      static_cast<double>(channels_ * shape.patch * shape.patch);
  nn::init::normal_(patches_->weight, 0, std::sqrt(1 / fan_in));
  nn::init::zeros_(patches_->bias);

  const auto encoder =
      register_module("encoder", std::make_shared<nn::Module>());
  positions_ = encoder->register_parameter(
      "pos_embedding",
      torch::randn({1, 1 + side_ * side_, shape.width}) * 0.02);
  dropout_ = encoder->register_module("dropout", nn::Dropout(dropout));
  const auto layers =
      encoder->register_module("layers", std::make_shared<nn::Module>());
  for (int64_t i = 0; i < shape.depth; ++i) {
    blocks_.push_back(
        layers->register_module("encoder_layer_" + std::to_string(i),
                                std::make_shared<Block>(shape, dropout)));
  }
  norm_ = encoder->register_module("ln", layer_norm(shape.width));
}

Features VisionTransformer::run(const Tensor& images, const Mixing& mixing) {
  const int64_t count = images.size(0), size = side_ * shape_.patch;
  TORCH_CHECK_VALUE(images.size(2) == size && images.size(3) == size,
                    "[vit] pictures must be ", size, " x ", size, ", got ",
                    images.sizes());
  const Tensor patches = patches_(images).flatten(2).transpose(1, 2);
  Tensor x = torch::cat({class_token_.expand({count, -1, -1}), patches}, 1);
  x = dropout_(x + positions_);  // [N, T, width]
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i]->forward(x);
    if (i + 1 == blocks_.size() / 4) x = mixing(1, x);
    if (i + 1 == blocks_.size() / 2) x = mixing(2, x);
  }
  x = norm_(x);
  const Tensor map = x.narrow(1, 1, side_ * side_)
                         .transpose(1, 2)
                         .unflatten(2, {side_, side_});
  return {map, x.select(1, 0)};
}

void VisionTransformer::adapt_weights(NamedTensors& weights) const {
  rename_vit_weights(weights);
  adapt_channels(weights, "conv_proj.weight", channels_);
  resize_positions(weights, "encoder.pos_embedding", side_);
}

KITH_REGISTER(backbone_registry(), "vit_b_16", VitB16);
KITH_REGISTER(backbone_registry(), "vit_b_32", VitB32);

}  // namespace kith
