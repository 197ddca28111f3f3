#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/models/backbone.h"
#include "kith/models/inverted_residual.h"

namespace kith {

/// The default is efficientnet_b0.
struct EfficientnetOptions {
  int64_t stem = 32;
  std::vector<int64_t> depths = {1, 2, 2, 3, 3, 4, 1};
  std::vector<int64_t> widths = {16, 24, 40, 80, 112, 192, 320};
  std::vector<int64_t> expand = {1, 6, 6, 6, 6, 6, 6};
  std::vector<int64_t> kernels = {3, 3, 5, 3, 5, 5, 3};
  std::vector<int64_t> strides = {1, 2, 2, 2, 1, 2, 1};
  int64_t fused = 0;
  int64_t last = 1280;
  double squeeze = 0.25;
  std::string padding = "symmetric";
  std::vector<int64_t> symmetric_blocks = {};
  double bn_eps = 1e-5;
  double bn_momentum = 0.1;
  double drop_path = 0.0;

  void describe(OptionSet& set);
};

/// EfficientNet (Tan and Le, ICML 2019) and EfficientNetV2 (ICML 2021) without
/// their classifier. Names are torchvision's. Networks from TensorFlow pad
/// otherwise than those of PyTorch and have another batch norm, so that each is
/// a shape of its own.
class Efficientnet final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "EfficientNet of any shape; by default efficientnet_b0";
  using Options = EfficientnetOptions;

  explicit Efficientnet(Options options = {}, const BackboneInput& input = {});

  int64_t features() const override { return options_.last; }

  /// Weights of torchvision, timm and Hugging Face's EfficientNetConfig.
  void adapt_weights(NamedTensors& weights) const override;
  void publish_weights(NamedTensors& weights, int64_t size) const override;
  std::string network_of(const NamedTensors& weights) const override;

  /// The input, and the maps behind the second and the third stage.
  int64_t mix_points() const override;

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  InvertedShape shape_of(size_t stage, int64_t block, int64_t place,
                         int64_t in) const;
  OtherNames timm_names() const;
  OtherNames huggingface_names() const;

  Options options_;
  int64_t channels_;
  PaddedConvNorm stem_;
  /// By stage.
  std::vector<std::vector<std::shared_ptr<InvertedBlock>>> stages_;
  PaddedConvNorm last_;
};

}  // namespace kith
