#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include "kith/core/options.h"
#include "kith/models/adapt_weights.h"
#include "kith/models/backbone.h"

namespace kith {

/// The default is convnext_tiny.
struct ConvnextOptions {
  std::vector<int64_t> depths = {3, 3, 9, 3};
  std::vector<int64_t> widths = {96, 192, 384, 768};
  int64_t patch = 4;
  double layer_scale = 1e-6;
  bool response_norm = false;
  double eps = 1e-6;
  double last_eps = 1e-6;
  bool norm_map = false;
  double drop_path = 0.0;

  void describe(OptionSet& set);
};

/// ConvNeXt (Liu et al., CVPR 2022) and, with `response_norm` and without
/// `layer_scale`, ConvNeXt V2 (Woo et al., CVPR 2023), without their
/// classifier. Names are torchvision's; of V2, which that does not have, those
/// of V1.
///
/// The published networks take the mean of the map over its positions and then
/// a last LayerNorm: that is the token. The map is what came before, or with
/// `norm_map` the LayerNorm of each of its positions, as in DINOv3.
class Convnext final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "ConvNeXt of any depth and width; by default convnext_tiny";
  using Options = ConvnextOptions;

  explicit Convnext(Options options = {}, const BackboneInput& input = {});
  ~Convnext() override;

  const Options& options() const { return options_; }

  int64_t features() const override { return options_.widths.back(); }
  bool has_token() const override { return true; }

  /// Weights of torchvision, timm, the authors (also those of DINOv3) and
  /// Hugging Face's ConvNextConfig, ConvNextV2Config and DINOv3ConvNextConfig.
  void adapt_weights(NamedTensors& weights) const override;
  void publish_weights(NamedTensors& weights, int64_t size) const override;
  std::string network_of(const NamedTensors& weights) const override;

  /// The input, the first stage and the second.
  int64_t mix_points() const override;

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  class Block;
  struct Stage;

  Options options_;
  int64_t channels_;
  torch::nn::Conv2d stem_{nullptr};
  torch::nn::LayerNorm stem_norm_{nullptr};
  std::vector<Stage> stages_;
  torch::nn::LayerNorm last_norm_{nullptr};
};

/// What such a network's modules are called in timm.
OtherNames convnext_timm_names(const ConvnextOptions& options);

/// The same in timm, by the authors (whose response norm is gamma x + beta) and
/// in Hugging Face's three kinds. These names do not overlap.
OtherNames convnext_names(const ConvnextOptions& options);

}  // namespace kith
