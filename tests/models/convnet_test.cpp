#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbone.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::unique_ptr<Backbone> make_convnet(int64_t width, int64_t channels) {
  return backbone_registry().make(
      parse_config("{name: convnet, width: " + std::to_string(width) + "}",
                   "test"),
      "model.backbone", BackboneInput{channels, 64, "train"});
}

TEST(Convnet, PoolsThreeTimes) {
  const auto grey = make_convnet(5, 1);
  EXPECT_EQ(grey->features(), 5);
  EXPECT_EQ(grey->forward(torch::zeros({2, 1, 64, 64})).map.sizes(),
            (std::vector<int64_t>{2, 5, 8, 8}));
  EXPECT_EQ(grey->forward(torch::zeros({2, 1, 9, 17})).map.sizes(),
            (std::vector<int64_t>{2, 5, 1, 2}));
  EXPECT_EQ(make_convnet(7, 3)->forward(torch::zeros({2, 3, 8, 8})).map.sizes(),
            (std::vector<int64_t>{2, 7, 1, 1}));
}

TEST(Convnet, FeaturesAreNotNegativeAndDependOnTheInput) {
  const auto net = make_convnet(6, 1);
  const Tensor a =
      net->forward(random_normal({4, 1, 16, 16}, 1, at::kFloat)).map;
  EXPECT_GE(a.min().item<float>(), 0);
  const Tensor b =
      net->forward(random_normal({4, 1, 16, 16}, 2, at::kFloat)).map;
  EXPECT_GT(max_difference(a, b), 1e-3);
}

// Pooling before batch norm and ReLU is faster and must give what the usual
// order (convolution, batch norm, ReLU, pooling) gives: with a positive scale
// both steps keep order. Batch norm starts with scale one.
TEST(Convnet, PoolingFirstKeepsTheResultInEvaluation) {
  const auto net = make_convnet(3, 1);
  net->eval();
  const auto named = net->named_parameters();
  Tensor x = random_normal({2, 1, 32, 32}, 1, at::kFloat);
  const Tensor result = net->forward(x).map;
  for (int block = 1; block <= 4; ++block) {
    const std::string name = "block" + std::to_string(block) + "_conv.weight";
    x = torch::conv2d(x, named[name], {}, 1, 1);
    x = torch::relu(x / std::sqrt(1 + 1e-5));
    if (block < 4) x = torch::max_pool2d(x, 2);
  }
  EXPECT_LE(max_difference(result, x), 1e-5);
}

TEST(Convnet, RefusesAWidthOfZeroOrOneThatFillsTheMemory) {
  for (const int width : {0, 4096}) {
    expect_error<ConfigError>([&] { make_convnet(width, 1); },
                              "model.backbone.width", "in [1, 1024]");
  }
}

}  // namespace
}  // namespace kith
