#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "kith/core/options.h"
#include "kith/models/backbone.h"
#include "kith/models/conv_norm.h"

namespace kith {

struct RotaryAngles;
struct TokenStream;
class VitBlock;
class VitAttentionPool;

/// The shape of a vision transformer. The default is ViT-B/16.
struct VitOptions {
  int64_t patch = 16;
  int64_t width = 768;
  int64_t depth = 12;
  int64_t heads = 12;
  int64_t hidden = 3072;
  std::string mlp = "plain";
  std::string activation = "gelu";
  std::string qkv_bias = "all";
  double layer_scale = 0.0;
  double norm_eps = 1e-6;
  bool pre_norm = false;
  bool class_token = true;
  int64_t registers = 0;
  std::string positions = "learnt";
  bool prefix_positions = true;
  int64_t grid = 0;
  std::string interpolation = "antialias";
  double rotary_base = 100.0;
  std::string token = "class";
  int64_t projection = 0;
  double dropout = 0.0;
  double drop_path = 0.0;

  void describe(OptionSet& set);
};

/// Vision transformer (Dosovitskiy et al., 2021) of any shape: those of DeiT,
/// DINO, DINOv2, DINOv3, CLIP, SigLIP and Unicom among them. The tokens of the
/// patches after the last LayerNorm are the map, one position a patch.
///
/// Tokens are in the order class token, registers, patches. A block is
///
///     x <- x + drop_path(scale1 attention(norm1(x)))
///     x <- x + drop_path(scale2 mlp(norm2(x)))
///
/// Pictures of another size than the learnt grid of positions is for get
/// interpolated ones, with a gradient. Names are timm's.
class VisionTransformer final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "vision transformer of a shape that options describe";
  static constexpr PartFacts kFacts = {
      .source = "Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021",
      .golden = "vit"};
  using Options = VitOptions;

  /// ConfigError if the options do not fit together, or if the positions are
  /// to be those of pictures that patches do not fill.
  explicit VisionTransformer(Options options = {},
                             const BackboneInput& input = {});
  ~VisionTransformer() override;

  const Options& options() const { return options_; }

  int64_t features() const override { return features_; }
  bool has_token() const override;
  int64_t multiple() const override { return options_.patch; }
  std::string fixed_size() const override;

  /// From the names and shapes of torchvision, timm, Hugging Face and the
  /// original code (kith/models/backbones/vit_weights.h).
  void adapt_weights(NamedTensors& weights) const override;
  void publish_weights(NamedTensors& weights, int64_t size) const override;
  std::string present_name(const std::string& stored) const override;
  std::string network_of(const NamedTensors& weights) const override;

  /// The input, and the tokens after a quarter and a half of the blocks.
  int64_t mix_points() const override { return 3; }

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  int64_t prefix() const;
  void add_tokens();
  void add_output(const std::string& batch_norm);
  Tensor tokens_of(const Tensor& images, int64_t rows, int64_t columns);
  std::string bar_to_stream() const;
  Tensor layers(Tensor x, const RotaryAngles& rotary, const Mixing& mixing);
  Tensor stream(TokenStream tokens, const RotaryAngles& rotary,
                const Mixing& mixing);
  Features output_of(const Tensor& tokens, int64_t rows, int64_t columns);
  Features joined(const Tensor& patches);

  Options options_;
  int64_t channels_;
  int64_t side_;  ///< Patches in a row of the learnt positions.
  int64_t features_;
  std::once_flag told_;  ///< What bars it from the stream.
  torch::nn::Conv2d patches_{nullptr};
  Tensor class_token_;
  Tensor registers_;
  Tensor positions_;  ///< [1, prefix + side^2, width]; undefined: rotary.
  torch::nn::Dropout dropout_{nullptr};
  torch::nn::LayerNorm pre_norm_{nullptr};
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
  std::shared_ptr<VitAttentionPool> pool_;
  torch::nn::Linear projection_{nullptr};
  std::vector<ConvNorm> feature_;  ///< Unicom's, of all patches joined.
};

}  // namespace kith
