#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/models/backbone.h"
#include "kith/models/inverted_residual.h"

namespace kith {

/// The default is mobilenet_v3_large.
struct MobilenetV3Options {
  int64_t stem = 16;
  std::vector<int64_t> depths = {1, 2, 3, 4, 2, 3};
  std::vector<int64_t> widths = {16, 24, 40, 80, 112, 160};
  std::vector<int64_t> inner = {16,  64,  72,  72,  120, 120, 240, 200,
                                184, 184, 480, 672, 672, 960, 960};
  std::vector<int64_t> kernels = {3, 3, 5, 3, 3, 5};
  std::vector<int64_t> strides = {1, 2, 2, 2, 1, 2};
  std::vector<int64_t> squeeze = {0, 0, 1, 0, 1, 1};
  int64_t relu_stages = 3;
  int64_t last = 960;
  std::string padding = "symmetric";
  double bn_eps = 1e-3;
  double bn_momentum = 0.01;

  void describe(OptionSet& set);
};

/// MobileNetV3 (Howard et al., ICCV 2019) without its classifier, which begins
/// behind the pooling. Names are torchvision's.
class MobilenetV3 final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "MobileNetV3 of any shape; by default mobilenet_v3_large";
  using Options = MobilenetV3Options;

  explicit MobilenetV3(Options options = {}, const BackboneInput& input = {});

  int64_t features() const override { return options_.last; }

  /// Weights of torchvision and timm.
  void adapt_weights(NamedTensors& weights) const override;

  /// The input, and the maps behind the second and the third stage.
  int64_t mix_points() const override;

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  Options options_;
  int64_t channels_;
  PaddedConvNorm stem_;
  std::vector<std::shared_ptr<InvertedBlock>> blocks_;
  PaddedConvNorm last_;
};

}  // namespace kith
