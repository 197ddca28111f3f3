#include "kith/models/inception.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/models/adapt_weights.h"

namespace kith {
namespace {

Tensor follow(const Path& path, Tensor x) {
  for (const Layer& layer : path) x = layer(x);
  return x;
}

std::vector<GoogLeNetBlock> googlenet_blocks() {
  return {
      {"3a", 64, 96, 128, 16, 32, 32},     {"3b", 128, 128, 192, 32, 96, 64},
      {"4a", 192, 96, 208, 16, 48, 64},    {"4b", 160, 112, 224, 24, 64, 64},
      {"4c", 128, 128, 256, 24, 64, 64},   {"4d", 112, 144, 288, 32, 64, 64},
      {"4e", 256, 160, 320, 32, 128, 128}, {"5a", 256, 160, 320, 32, 128, 128},
      {"5b", 384, 192, 384, 48, 128, 128}};
}

}  // namespace

Layer inception_block(std::vector<Path> paths) {
  return [paths = std::move(paths)](const Tensor& x) {
    std::vector<Tensor> maps;
    for (const Path& path : paths) maps.push_back(follow(path, x));
    return torch::cat(maps, 1);
  };
}

Layer halve(int64_t window) {
  return [window](const Tensor& x) {
    // A window larger than the map would be refused, though all of it that is
    // on the map counts at every edge.
    return torch::max_pool2d(
        x, {std::min(window, x.size(2)), std::min(window, x.size(3))}, 2, 0, 1,
        /*ceil_mode=*/true);
  };
}

Tensor max_around(const Tensor& x) { return torch::max_pool2d(x, 3, 1, 1); }

void add_googlenet_blocks(
    InceptionLayers& layers, int64_t last_window,
    const std::function<Layer(const GoogLeNetBlock&, int64_t in)>& make) {
  int64_t in = 192;
  for (const GoogLeNetBlock& block : googlenet_blocks()) {
    if (block.name == "4a") layers.late.push_back(halve());
    if (block.name == "5a") layers.late.push_back(halve(last_window));
    Path& path = block.name.front() == '3' ? layers.early : layers.late;
    path.push_back(make(block, in));
    in = block.out();
  }
}

InceptionNet::InceptionNet(std::string first, int64_t channels)
    : first_(std::move(first)), channels_(channels) {}

InceptionNet::~InceptionNet() = default;

void InceptionNet::set_layers(InceptionLayers layers) {
  layers_ = std::make_unique<InceptionLayers>(std::move(layers));
}

std::string InceptionNet::layer_of(const std::string& parameter) const {
  constexpr std::string_view kBlock = "inception_3a";
  if (!parameter.starts_with("inception")) return "";
  return parameter.substr(
      0, parameter[9] == '_' ? kBlock.size() : parameter.find('.'));
}

void InceptionNet::adapt_weights(NamedTensors& weights) const {
  adapt_channels(weights, first_, channels_);
}

Features InceptionNet::run(const Tensor& images, const Mixing& mixing) {
  const Tensor low = mixing(1, follow(layers_->stem, images));
  const Tensor middle = mixing(2, follow(layers_->early, low));
  return {follow(layers_->late, middle), {}};
}

}  // namespace kith
