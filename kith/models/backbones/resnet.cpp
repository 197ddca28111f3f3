#include <optional>

#include <torch/torch.h>

#include "kith/models/adapt_weights.h"
#include "kith/models/backbones.h"

namespace kith {

class Resnet::Residual final : public torch::nn::Module {
 public:
  /// Bottlenecks have 4 `width` channels at their end, basic blocks `width`.
  Residual(Block block, int64_t in, int64_t width, int64_t stride,
           const std::string& batch_norm) {
    const auto add = [&](const ConvShape& shape) {
      const std::string number = std::to_string(body_.size() + 1);
      body_.emplace_back(*this, "conv" + number, "bn" + number, shape,
                         batch_norm);
    };
    if (block == Block::kBasic) {
      out_ = width;
      add({.in = in, .out = width, .stride = stride});
      add({.in = width, .out = width});
    } else {
      out_ = 4 * width;
      add({.in = in, .out = width, .kernel = 1});
      add({.in = width, .out = width, .stride = stride});
      add({.in = width, .out = out_, .kernel = 1});
    }
    if (in == out_ && stride == 1) return;
    const auto names = std::make_shared<torch::nn::Module>();
    register_module("downsample", names);
    shortcut_.emplace(
        *names, "0", "1",
        ConvShape{.in = in, .out = out_, .kernel = 1, .stride = stride},
        batch_norm);
  }

  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (size_t i = 0; i < body_.size(); ++i) {
      y = body_[i](y);
      if (i + 1 < body_.size()) y.relu_();
    }
    return y.add_(shortcut_ ? (*shortcut_)(x) : x).relu_();
  }

  int64_t out() const { return out_; }

 private:
  int64_t out_ = 0;
  std::vector<ConvNorm> body_;
  std::optional<ConvNorm> shortcut_;
};

Resnet::Resnet(Block block, const std::array<int64_t, 4>& depths,
               const BackboneInput& input)
    : channels_(input.channels),
      stem_(*this, "conv1", "bn1",
            {.in = input.channels, .out = 64, .kernel = 7, .stride = 2},
            input.batch_norm) {
  for (size_t stage = 0; stage < depths.size(); ++stage) {
    torch::nn::ModuleList layer;
    for (int64_t i = 0; i < depths[stage]; ++i) {
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      const auto added = std::make_shared<Residual>(
          block, features_, int64_t{64} << stage, stride, input.batch_norm);
      features_ = added->out();
      layer->push_back(added);
      layers_[stage].push_back(added);
    }
    register_module("layer" + std::to_string(stage + 1), layer);
  }
}

Features Resnet::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = torch::max_pool2d(stem_(images).relu_(), 3, 2, 1);
  for (size_t stage = 0; stage < layers_.size(); ++stage) {
    for (const auto& block : layers_[stage]) x = block->forward(x);
    x = mixing(static_cast<int64_t>(stage) + 1, x);
  }
  return {x, {}};
}

void Resnet::adapt_weights(NamedTensors& weights) const {
  adapt_channels(weights, "conv1.weight", channels_);
}

KITH_REGISTER(backbone_registry(), "resnet18", Resnet18);
KITH_REGISTER(backbone_registry(), "resnet34", Resnet34);
KITH_REGISTER(backbone_registry(), "resnet50", Resnet50);
KITH_REGISTER(backbone_registry(), "resnet101", Resnet101);

}  // namespace kith
