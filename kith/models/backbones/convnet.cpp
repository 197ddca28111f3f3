#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"

namespace kith {
namespace {

constexpr size_t kConvnetBlocks = 4;

}  // namespace

void ConvnetOptions::describe(OptionSet& set) {
  set.add("width", width, "Channels of each of the four blocks.")
      .range(1, 1024);
}

Convnet::Convnet(Options options, const BackboneInput& input)
    : width_(checked(std::move(options), "convnet").width) {
  constexpr int64_t kSmallest = 1
                                << (kConvnetBlocks - 1);  // pooled three times
  if (input.size < kSmallest) {
    throw ConfigError(
        "'model.input.size' must be at least " + std::to_string(kSmallest) +
        " for the backbone convnet, got " + std::to_string(input.size));
  }
  int64_t channels = input.channels;
  for (size_t i = 1; i <= kConvnetBlocks; ++i) {
    const std::string block = "block" + std::to_string(i);
    blocks_.emplace_back(*this, block + "_conv", block + "_norm",
                         ConvShape{.in = channels, .out = width_},
                         input.batch_norm);
    channels = width_;
  }
}

Features Convnet::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = images;
  for (size_t i = 0; i + 1 < kConvnetBlocks; ++i) {
    x = blocks_[i].normalise(blocks_[i].convolve_and_pool(x)).relu_();
    x = mixing(static_cast<int64_t>(i) + 1, x);
  }
  return {blocks_.back()(x, Activation::kRelu), {}};
}

KITH_REGISTER(backbone_registry(), "convnet", Convnet);

}  // namespace kith
