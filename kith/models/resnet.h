#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/models/backbone.h"
#include "kith/models/conv_norm.h"

namespace kith {

/// The default is resnet50.
struct ResnetOptions {
  std::string block = "bottleneck";
  std::vector<int64_t> depths = {3, 4, 6, 3};
  int64_t stem = 64;
  std::vector<int64_t> widths = {64, 128, 256, 512};
  int64_t groups = 1;
  int64_t width_per_group = 64;
  std::string stride = "3x3";
  std::string pool = "centred";

  void describe(OptionSet& set);
};

/// ResNet (He et al., 2016) without its classifier, and its relatives: ResNeXt
/// (Xie et al., 2017) has `groups`, wide ResNets (Zagoruyko and Komodakis,
/// 2016) more `width_per_group`. Names are torchvision's, which timm shares.
///
///     EmbeddingNet::make<Resnet>({.block = "basic", .depths = {2, 2, 2, 2}},
///                                input);   // resnet18
///
/// A stage of `widths` w has w channels between its blocks if they are basic
/// and 4 w if they are bottlenecks, whose 3x3 convolution has
/// w width_per_group / 64 groups. The map has 1/32 of the input's size, if
/// there are four stages.
class Resnet final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "residual network of any depth and width; by default resnet50";
  using Options = ResnetOptions;

  explicit Resnet(Options options = {}, const BackboneInput& input = {});

  int64_t features() const override { return features_; }

  /// Weights of torchvision, timm and Hugging Face's ResNetConfig. A bias of a
  /// convolution, as Keras has, goes into the batch norm behind it.
  void adapt_weights(NamedTensors& weights) const override;
  std::string network_of(const NamedTensors& weights) const override;

  /// The input, layer1 and layer2.
  int64_t mix_points() const override;

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  class Residual;

  Options options_;
  int64_t channels_;
  int64_t features_ = 0;
  ConvNorm stem_;
  /// By stage.
  std::vector<std::vector<std::shared_ptr<Residual>>> layers_;
};

}  // namespace kith
