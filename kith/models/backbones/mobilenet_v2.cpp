#include <torch/torch.h>

#include "kith/models/adapt_weights.h"
#include "kith/models/backbones.h"
#include "kith/models/conv_parts.h"
#include "kith/models/published_name.h"

namespace kith {
namespace {

namespace nn = torch::nn;

struct MobilenetStage {
  int64_t expand;
  int64_t channels;
  int64_t blocks;
  int64_t stride;
};
constexpr MobilenetStage kMobilenetStages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

}  // namespace

/// An inverted residual: 1x1 convolution to `expand` times the channels, 3x3
/// within channels, 1x1 to `out` channels without activation.
class MobilenetV2::InvertedResidual final : public nn::Module {
 public:
  InvertedResidual(int64_t in, int64_t out, int64_t expand, int64_t stride,
                   const std::string& batch_norm)
      : has_shortcut_(stride == 1 && in == out) {
    const int64_t wide = in * expand;
    const auto conv = add_named_module(*this, "conv");
    const auto add_pair = [&](const ConvShape& shape) {
      const auto names = add_named_module(*conv, std::to_string(body_.size()));
      body_.emplace_back(*names, "0", "1", shape, batch_norm);
    };
    if (expand > 1) add_pair({.in = in, .out = wide, .kernel = 1});
    add_pair({.in = wide, .out = wide, .stride = stride, .groups = wide});
    const size_t next = body_.size();
    body_.emplace_back(*conv, std::to_string(next), std::to_string(next + 1),
                       ConvShape{.in = wide, .out = out, .kernel = 1},
                       batch_norm);
  }

  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (size_t i = 0; i + 1 < body_.size(); ++i) {
      y = body_[i](y, Activation::kRelu6);
    }
    return body_.back()(y, Activation::kNone, has_shortcut_ ? x : Tensor());
  }

 private:
  bool has_shortcut_;
  std::vector<ConvNorm> body_;
};

MobilenetV2::MobilenetV2(Options, const BackboneInput& input)
    : channels_(input.channels), names_(add_named_module(*this, "features")) {
  first_ = pair({.in = channels_, .out = 32, .stride = 2}, input.batch_norm);
  int64_t in = 32;
  for (const MobilenetStage& stage : kMobilenetStages) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      blocks_.push_back(std::make_shared<InvertedResidual>(
          in, stage.channels, stage.expand, i == 0 ? stage.stride : 1,
          input.batch_norm));
      names_->register_module(next_name(), blocks_.back());
      in = stage.channels;
    }
    stage_ends_.push_back(blocks_.size());
  }
  last_ = pair({.in = in, .out = features(), .kernel = 1}, input.batch_norm);
}

std::string MobilenetV2::next_name() const {
  return std::to_string(names_->children().size());
}

ConvNorm MobilenetV2::pair(const ConvShape& shape,
                           const std::string& batch_norm) {
  return {*add_named_module(*names_, next_name()), "0", "1", shape, batch_norm};
}

void MobilenetV2::adapt_weights(NamedTensors& weights) const {
  adapt_channels(weights, "features.0.0.weight", channels_);
}

Features MobilenetV2::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = first_(images, Activation::kRelu6);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i]->forward(x);
    if (i + 1 == stage_ends_[1]) x = mixing(1, x);
    if (i + 1 == stage_ends_[2]) x = mixing(2, x);
  }
  return {last_(x, Activation::kRelu6), {}};
}

namespace {

[[maybe_unused]] const bool mobilenet_v2_published =
    add_published_name({"torchvision", "mobilenet_v2"});

}  // namespace

KITH_REGISTER(backbone_registry(), "mobilenet_v2", MobilenetV2);

}  // namespace kith
