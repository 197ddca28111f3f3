#include <string>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"

namespace kith {
namespace {

/// A configuration may come with a file from anywhere: it cannot ask for all of
/// the memory.
void check_mlp_size(const std::vector<int64_t>& hidden, int64_t in) {
  constexpr int64_t kMostInALayer = int64_t{1} << 26;
  constexpr int64_t kMostInAll = int64_t{1} << 28;
  int64_t all = 0;
  for (const int64_t out : hidden) {
    const int64_t weights = in * out;
    all += weights;
    if (weights > kMostInALayer || all > kMostInAll) {
      throw ConfigError(
          "'mlp.hidden' asks for a layer of " + std::to_string(in) + " x " +
          std::to_string(out) + " weights, " + std::to_string(all) +
          " up to there; the most are " + std::to_string(kMostInALayer) +
          " in a layer and " + std::to_string(kMostInAll) +
          " in all: take narrower layers or a smaller 'model.input.size'");
    }
    in = out;
  }
}

}  // namespace

void MlpOptions::describe(OptionSet& set) {
  set.add("hidden", hidden, "Width of each layer; the last are the features.")
      .not_empty()
      .range(1, 1 << 16);
  set.add("activation", activation, "Behind each layer.")
      .choices({"relu", "tanh"});
}

Mlp::Mlp(Options options, const BackboneInput& input) {
  options = checked(std::move(options), "mlp");
  relu_ = options.activation == "relu";
  int64_t in = input.channels * input.size * input.size;
  check_mlp_size(options.hidden, in);
  for (const int64_t out : options.hidden) {
    const std::string name = "layer" + std::to_string(layers_.size() + 1);
    layers_.push_back(register_module(name, torch::nn::Linear(in, out)));
    in = out;
  }
  features_ = in;
}

Features Mlp::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = images.flatten(1);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i](x);
    x = relu_ ? x.relu_() : x.tanh_();
    x = mixing(static_cast<int64_t>(i) + 1, x);
  }
  return {x.view({x.size(0), features_, 1, 1}), {}};
}

KITH_REGISTER(backbone_registry(), "mlp", Mlp);

}  // namespace kith
