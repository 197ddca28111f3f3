#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "kith/core/options.h"
#include "kith/models/backbone.h"
#include "kith/models/conv_norm.h"
#include "kith/models/convnext.h"
#include "kith/models/efficientnet.h"
#include "kith/models/mobilenet_v3.h"
#include "kith/models/regnet.h"
#include "kith/models/resnet.h"
#include "kith/models/vision_transformer.h"

namespace kith {

struct ConvnetOptions {
  int64_t width = 64;

  void describe(OptionSet& set);
};

/// Four blocks of 3x3 convolution, batch norm, ReLU and 2x2 max pooling (the
/// last one does not pool), the usual small network of few-shot learning.
/// Pooling comes straight after the convolution: ReLU and max commute, and
/// batch norm then works on a quarter of the values, which on a CPU saves a
/// third of the step.
class Convnet final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "four convolution blocks for small pictures";
  using Options = ConvnetOptions;

  explicit Convnet(Options options = {}, const BackboneInput& input = {});

  int64_t features() const override { return width_; }

  /// The input, the first block and the second.
  int64_t mix_points() const override { return 3; }

  /// "block1", of its convolution and its norm.
  std::string layer_of(const std::string& parameter) const override {
    return parameter.substr(0, parameter.find('_'));
  }

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  int64_t width_;
  std::vector<ConvNorm> blocks_;
};

struct MlpOptions {
  std::vector<int64_t> hidden = {30, 30};
  std::string activation = "relu";

  void describe(OptionSet& set);
};

/// Linear layers, each with an activation behind it, on all pixels at once. The
/// map has a single position. For points and other inputs without an order in
/// space.
class Mlp final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "fully connected layers on all pixels, for points and tiny pictures";
  using Options = MlpOptions;

  explicit Mlp(Options options = {}, const BackboneInput& input = {});

  int64_t features() const override { return features_; }

  std::string fixed_size() const override {
    return "mlp, which has a weight for each pixel";
  }

  /// The input and every layer.
  int64_t mix_points() const override {
    return static_cast<int64_t>(layers_.size()) + 1;
  }

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  bool relu_;
  int64_t features_ = 0;
  std::vector<torch::nn::Linear> layers_;
};

/// MobileNetV2 (Sandler et al., 2018) of width 1 without its classifier. The
/// map has 1/32 of the input's size. Names are torchvision's.
class MobilenetV2 final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "small and quick network of inverted residuals, 1280 features";
  using Options = NoOptions;

  explicit MobilenetV2(Options = {}, const BackboneInput& input = {});

  int64_t features() const override { return 1280; }

  /// The input, and the maps of 1/4 and 1/8 of its size.
  int64_t mix_points() const override { return 3; }

  void adapt_weights(NamedTensors& weights) const override;

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  class InvertedResidual;

  std::string next_name() const;
  ConvNorm pair(const ConvShape& shape, const std::string& batch_norm);

  int64_t channels_;
  std::shared_ptr<torch::nn::Module> names_;
  ConvNorm first_;
  std::vector<std::shared_ptr<InvertedResidual>> blocks_;
  std::vector<size_t> stage_ends_;  ///< Blocks up to the end of each stage.
  ConvNorm last_;
};

struct InceptionLayers;

/// What GoogLeNet and its successor have in common. The map has about 1/32 of
/// the input's size (pools round up) and 1024 channels.
class InceptionNet : public Backbone {
 public:
  int64_t features() const override { return 1024; }

  /// The input, the end of the stem and that of the early blocks.
  int64_t mix_points() const override { return 3; }

  /// "inception3a" or, of Caffe's names, "inception_3a".
  std::string layer_of(const std::string& parameter) const override;

  void adapt_weights(NamedTensors& weights) const override;

 protected:
  /// `first` is the name of the first convolution's weights.
  InceptionNet(std::string first, int64_t channels);
  ~InceptionNet() override;

  /// Called once, when the layers are registered.
  void set_layers(InceptionLayers layers);

  Features run(const Tensor& images, const Mixing& mixing) override;

 private:
  std::string first_;
  int64_t channels_;
  std::unique_ptr<InceptionLayers> layers_;
};

/// GoogLeNet as published (Szegedy et al., CVPR 2015), in the version that came
/// with Caffe, without its three classifiers.
class InceptionV1 final : public InceptionNet {
 public:
  static constexpr const char* kSummary =
      "GoogLeNet as published, without batch norm, 1024 features; its weights "
      "need input in bgr";
  static constexpr PartFacts kFacts = {.golden = "backbone_inception_v1"};
  using Options = NoOptions;

  explicit InceptionV1(Options = {}, const BackboneInput& input = {});

  void adapt_weights(NamedTensors& weights) const override;
};

/// GoogLeNet with batch norm and the names of torchvision, without its three
/// classifiers.
class Googlenet final : public InceptionNet {
 public:
  static constexpr const char* kSummary =
      "inception network with batch norm as in torchvision, 1024 features; its "
      "weights need input mean and std 0.5";
  static constexpr PartFacts kFacts = {.golden = "backbone_googlenet"};
  using Options = NoOptions;

  explicit Googlenet(Options = {}, const BackboneInput& input = {});
};

/// Inception with batch norm (Ioffe and Szegedy, 2015) without its classifier,
/// under the names of the weights that metric learning starts from.
class BnInception final : public InceptionNet {
 public:
  static constexpr const char* kSummary =
      "inception network of the batch norm paper, 1024 features; its weights "
      "need input in bgr";
  static constexpr PartFacts kFacts = {.golden = "backbone_bn_inception"};
  using Options = NoOptions;

  explicit BnInception(Options = {}, const BackboneInput& input = {});
};

}  // namespace kith
