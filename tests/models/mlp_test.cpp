#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbone.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::unique_ptr<Backbone> make_mlp(const std::string& options,
                                   const BackboneInput& input) {
  return backbone_registry().make(
      parse_config("{name: mlp" + options + "}", "test"), "model.backbone",
      input);
}

TEST(Mlp, IsLinearLayersWithActivations) {
  const Tensor images = random_normal({5, 3, 2, 2}, 1, at::kFloat);
  for (const bool relu : {true, false}) {
    const auto net = make_mlp(std::string(", hidden: [4, 6], activation: ") +
                                  (relu ? "relu" : "tanh"),
                              {3, 2, "train"});
    EXPECT_EQ(net->features(), 6);
    EXPECT_EQ(net->mix_points(), 3);
    const auto named = net->named_parameters();
    Tensor x = images.reshape({5, 12});
    for (const std::string layer : {"layer1", "layer2"}) {
      x = torch::mm(x, named[layer + ".weight"].t()) + named[layer + ".bias"];
      x = relu ? x.relu() : x.tanh();
    }
    const Features out = net->forward(images);
    EXPECT_EQ(out.map.sizes(), (std::vector<int64_t>{5, 6, 1, 1}));
    EXPECT_LE(max_difference(out.map.flatten(1), x), 1e-5);
    EXPECT_FALSE(out.token.defined());
    out.map.sum().backward();
    for (const Tensor& parameter : net->parameters()) {
      EXPECT_TRUE(parameter.grad().defined());
    }
  }
}

TEST(Mlp, TakesAPoint) {
  const auto net = make_mlp("", {3, 1, "train"});
  EXPECT_EQ(net->features(), 30);
  EXPECT_EQ(net->forward(torch::zeros({2, 3, 1, 1})).map.sizes(),
            (std::vector<int64_t>{2, 30, 1, 1}));
}

TEST(Mlp, RefusesNoLayers) {
  expect_error<ConfigError>(
      [] {
        make_mlp(", hidden: []", {3, 1, "train"});
      },
      "model.backbone.hidden");
  expect_error<ConfigError>(
      [] {
        make_mlp(", hidden: [0]", {3, 1, "train"});
      },
      "model.backbone.hidden");
}

TEST(Mlp, RefusesToFillTheMemory) {
  const auto refuse = [](const std::string& hidden, int64_t size) {
    expect_error<ConfigError>(
        [&] {
          make_mlp(", hidden: " + hidden, {3, size, "train"});
        },
        "model.backbone.hidden", "take narrower layers");
  };
  refuse("[65536, 65536, 65536]", 1);  // 17 GB a layer
  refuse("[8192]", 1024);
  refuse("[8192, 8192, 8192, 8192, 8192, 8192]", 1);  // in all
}

}  // namespace
}  // namespace kith
