#include <string>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbone.h"

namespace kith {
namespace {

struct MlpOptions {
  std::vector<int64_t> hidden = {30, 30};
  std::string activation = "relu";

  void describe(OptionSet& set) {
    set.add("hidden", hidden, "Width of each layer; the last are the features.")
        .not_empty()
        .range(1, 1 << 16);
    set.add("activation", activation, "Behind each layer.")
        .choices({"relu", "tanh"});
  }
};

/// A configuration may come with a file from anywhere: it cannot ask for all of
/// the memory.
void check_weights(const std::vector<int64_t>& hidden, int64_t in) {
  constexpr int64_t kMostInALayer = int64_t{1} << 26;
  constexpr int64_t kMostInAll = int64_t{1} << 28;
  int64_t all = 0;
  for (const int64_t out : hidden) {
    const int64_t weights = in * out;
    all += weights;
    if (weights > kMostInALayer || all > kMostInAll) {
      throw ConfigError(
          "'model.backbone.hidden' asks for a layer of " + std::to_string(in) +
          " x " + std::to_string(out) + " weights, " + std::to_string(all) +
          " up to there; the most are " + std::to_string(kMostInALayer) +
          " in a layer and " + std::to_string(kMostInAll) +
          " in all: take narrower layers or a smaller 'model.input.size'");
    }
    in = out;
  }
}

/// Linear layers, each with an activation behind it, on all pixels at once. The
/// map has a single position. For points and other inputs without an order in
/// space.
class Mlp final : public Backbone {
 public:
  static constexpr const char* kSummary =
      "fully connected layers on all pixels, for points and tiny pictures";
  using Options = MlpOptions;

  Mlp(const Options& options, const BackboneInput& input)
      : relu_(options.activation == "relu") {
    int64_t in = input.channels * input.size * input.size;
    check_weights(options.hidden, in);
    for (const int64_t out : options.hidden) {
      const std::string name = "layer" + std::to_string(layers_.size() + 1);
      layers_.push_back(register_module(name, torch::nn::Linear(in, out)));
      in = out;
    }
    features_ = in;
  }

  int64_t features() const override { return features_; }

  std::string fixed_size() const override {
    return "mlp, which has a weight for each pixel";
  }

  /// The input and every layer.
  int64_t mix_points() const override {
    return static_cast<int64_t>(layers_.size()) + 1;
  }

 protected:
  Features run(const Tensor& images, const Mixing& mixing) override {
    Tensor x = images.flatten(1);
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i](x);
      x = relu_ ? x.relu_() : x.tanh_();
      x = mixing(static_cast<int64_t>(i) + 1, x);
    }
    return {x.view({x.size(0), features_, 1, 1}), {}};
  }

 private:
  bool relu_;
  int64_t features_ = 0;
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace

KITH_REGISTER(backbone_registry(), "mlp", Mlp);

}  // namespace kith
