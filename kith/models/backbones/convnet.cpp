#include <torch/torch.h>

#include "kith/models/backbone.h"

namespace kith {
namespace {

namespace nn = torch::nn;

struct ConvnetOptions {
  int64_t width = 64;

  void describe(OptionSet& set) {
    set.add("width", width, "Channels of each of the four blocks.")
        .range(1, 4096);
  }
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

  Convnet(const Options& options, const BackboneInput& input)
      : width_(options.width) {
    int64_t channels = input.channels;
    for (size_t i = 1; i <= kBlocks; ++i) {
      const std::string block = "block" + std::to_string(i);
      convolutions_.push_back(register_module(
          block + "_conv",
          nn::Conv2d(
              nn::Conv2dOptions(channels, width_, 3).padding(1).bias(false))));
      // Keeps the scale of the activations from block to block; LibTorch's
      // default shrinks them, and an untrained network is then near constant.
      nn::init::kaiming_normal_(convolutions_.back()->weight, 0.0,
                                torch::kFanOut, torch::kReLU);
      norms_.push_back(
          register_module(block + "_norm", nn::BatchNorm2d(width_)));
      channels = width_;
    }
  }

  Tensor forward(const Tensor& images) override {
    Tensor x = images;
    for (size_t i = 0; i < kBlocks; ++i) {
      x = convolutions_[i](x);
      if (i + 1 < kBlocks) x = torch::max_pool2d(x, 2);
      x = torch::relu(norms_[i](x));
    }
    return x;
  }

  int64_t features() const override { return width_; }

 private:
  static constexpr size_t kBlocks = 4;

  int64_t width_;
  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::BatchNorm2d> norms_;
};

}  // namespace

KITH_REGISTER(backbone_registry(), "convnet", Convnet);

}  // namespace kith
