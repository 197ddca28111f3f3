// Networks whose layers are fused, as on a GPU in bfloat16, beside the same
// networks layer by layer.

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/config.h"
#include "kith/models/backbone.h"
#include "kith/models/conv_norm.h"
#include "kith/ops/fused_way.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Of a network in double: its features, and the gradients of its parameters.
struct Pass {
  Tensor features;
  std::map<std::string, Tensor> gradients;

  Pass(Backbone& network, const Tensor& images) {
    network.zero_grad();
    torch::manual_seed(1);
    features = network.forward(images).map;
    features.square().mean().backward();
    for (const auto& p : network.named_parameters()) {
      const Tensor gradient = p.value().grad();
      if (gradient.defined()) gradients[p.key()] = gradient.clone();
    }
  }
};

/// How many nodes of the graph behind `y` are fused layers.
int64_t count_fused(const Tensor& y) {
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open = {y.grad_fn().get()};
  int64_t count = 0;
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (node->name().find("ConvNormAct") != std::string::npos) ++count;
    for (const auto& edge : node->next_edges()) {
      open.push_back(edge.function.get());
    }
  }
  return count;
}

class FusedNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(FusedNetwork, HasTheFeaturesAndGradientsOfItsLayers) {
  const std::string section = std::string("{name: ") + GetParam() + "}";
  for (const std::string mode : {"stats", "all"}) {
    torch::manual_seed(1);
    const auto network = backbone_registry().make(
        parse_config(section, "test"), "model.backbone", {3, 64, mode});
    network->to(torch::kDouble);
    set_training(*network, true, mode);
    // At first batch norm is the identity.
    uint64_t seed = 1;
    for (auto& buffer : network->named_buffers()) {
      if (!buffer.key().ends_with("running_var")) continue;
      const torch::NoGradGuard no_grad;
      buffer.value().copy_(
          0.5 + random_normal(buffer.value().sizes().vec(), ++seed).square());
    }
    const Tensor images = random_normal({2, 3, 64, 64}, ++seed);
    const Pass layers(*network, images);
    const FusedOnCpu fused;
    const Pass made(*network, images);
    EXPECT_EQ(count_fused(layers.features), 0);
    EXPECT_GT(count_fused(made.features), 0);
    const double size = layers.features.abs().max().item<double>();
    EXPECT_LE(max_difference(made.features, layers.features), 1e-12 * size);
    ASSERT_EQ(made.gradients.size(), layers.gradients.size());
    for (const auto& [name, gradient] : layers.gradients) {
      const Tensor difference = made.gradients.at(name) - gradient;
      EXPECT_LE(difference.norm().item<double>(),
                1e-10 * gradient.norm().item<double>())
          << name << ", " << mode;
    }
  }
}

// LibTorch does not count changes of running statistics as changes.
TEST(FusedLayers, FollowStatisticsThatAreGathered) {
  torch::nn::Module owner;
  ConvNorm layer(owner, "conv", "norm", {.in = 3, .out = 8}, "train");
  const FusedOnCpu fused;
  const torch::NoGradGuard no_grad;
  for (uint64_t step = 1; step < 4; ++step) {
    const Tensor x = 5 * random_normal({2, 3, 6, 6}, step, at::kFloat);
    set_training(owner, true, "train");
    layer(x);
    set_training(owner, false, "train");
    const Tensor expected = layer.normalise(layer.convolve(x));
    EXPECT_LE(max_difference(layer(x), expected), 1e-5) << step;
  }
}

// With a shortcut these activations have no kernel.
TEST(FusedLayers, LeaveWhatTheyCannotToTheLayers) {
  torch::nn::Module owner;
  ConvNorm layer(owner, "conv", "norm", {.in = 8, .out = 8}, "stats");
  set_training(owner, true, "stats");
  const Tensor x = random_normal({2, 8, 6, 6}, 1, at::kFloat);
  const Tensor expected = layer(x, Activation::kSilu, x);
  const FusedOnCpu fused;
  EXPECT_LE(max_difference(layer(x, Activation::kSilu, x), expected), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Networks, FusedNetwork,
                         ::testing::Values("mobilenet_v2", "resnet18",
                                           "resnet50", "googlenet", "convnet",
                                           "mobilenet_v3_small",
                                           "efficientnet_b0",
                                           "regnet_y_400mf"));

}  // namespace
}  // namespace kith
