#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/models/backbone.h"
#include "kith/models/conv_norm.h"

namespace kith {

/// The default is regnet_y_400mf.
struct RegnetOptions {
  int64_t stem = 32;
  std::vector<int64_t> depths = {1, 3, 6, 6};
  std::vector<int64_t> widths = {48, 104, 208, 440};
  int64_t group_width = 8;
  double squeeze = 0.25;

  void describe(OptionSet& set);
};

/// RegNetX and, with `squeeze`, RegNetY (Radosavovic et al., CVPR 2020) without
/// their classifier. Names are torchvision's.
class Regnet final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "RegNet of any shape; by default regnet_y_400mf";
  using Options = RegnetOptions;

  explicit Regnet(Options options = {}, const BackboneInput& input = {});

  int64_t features() const override { return options_.widths.back(); }

  /// Weights of torchvision, timm and Hugging Face's RegNetConfig.
  void adapt_weights(NamedTensors& weights) const override;
  void publish_weights(NamedTensors& weights, int64_t size) const override;
  std::string network_of(const NamedTensors& weights) const override;

  /// The input, the first stage and the second.
  int64_t mix_points() const override;

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  class Block;

  Options options_;
  int64_t channels_;
  ConvNorm stem_;
  /// By stage.
  std::vector<std::vector<std::shared_ptr<Block>>> stages_;
};

}  // namespace kith
