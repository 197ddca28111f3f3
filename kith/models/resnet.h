#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kith/models/backbone.h"
#include "kith/models/conv_norm.h"

namespace kith {

/// A residual block: two or three convolutions beside a shortcut.
class ResidualBlock;

/// ResNet (He et al., 2016) without its classifier, in the version with the
/// stride on the 3x3 convolution of a bottleneck. The map has 1/32 of the
/// input's size. Names are torchvision's, which timm shares.
class ResNet : public Backbone {
 public:
  enum class Block { kBasic, kBottleneck };

  /// `depths`: blocks of each of the four stages.
  ResNet(Block block, const std::array<int64_t, 4>& depths,
         const BackboneInput& input);

  int64_t features() const override { return features_; }
  void adapt_weights(NamedTensors& weights) const override;

  /// The input, layer1 and layer2.
  int64_t mix_points() const override { return 3; }

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  int64_t channels_;
  int64_t features_ = 64;
  ConvNorm stem_;
  /// By stage.
  std::array<std::vector<std::shared_ptr<ResidualBlock>>, 4> layers_;
};

}  // namespace kith
