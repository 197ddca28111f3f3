#pragma once

#include <memory>
#include <vector>

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/normalization.h>

#include "kith/core/options.h"
#include "kith/models/backbone.h"

namespace kith {

struct VitShape {
  int64_t patch = 16;  ///< Pictures are cut into patch x patch pixels.
  int64_t width = 768;
  int64_t depth = 12;
  int64_t heads = 12;
  int64_t hidden = 3072;  ///< Of the two-layer network of each block.
};

struct VitOptions {
  double dropout = 0.0;

  void describe(OptionSet& set);
};

/// Attention and a two-layer network, each with a shortcut.
class VitBlock;

/// Vision transformer (Dosovitskiy et al., 2021) without its classifier. The
/// tokens of the patches are the map, one position a patch; map and class token
/// are taken after the last LayerNorm. The picture's size is fixed, for each
/// patch has a learnt position. Names are torchvision's.
class VisionTransformer : public Backbone {
 public:
  /// ConfigError if patches do not fill a picture.
  VisionTransformer(const VitShape& shape, const VitOptions& options,
                    const BackboneInput& input);

  int64_t features() const override { return shape_.width; }
  bool has_token() const override { return true; }
  std::string fixed_size() const override {
    return "a vision transformer, which has learnt a position for each patch";
  }

  /// Weights of torchvision and timm, of models for pictures of any size.
  void adapt_weights(NamedTensors& weights) const override;

  /// The input, and the tokens after a quarter and a half of the blocks.
  int64_t mix_points() const override { return 3; }

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  VitShape shape_;
  int64_t channels_;
  int64_t side_;  ///< Patches in a row.
  Tensor class_token_;
  Tensor positions_;  ///< [1, 1 + side^2, width]; the class token's first.
  torch::nn::Conv2d patches_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace kith
