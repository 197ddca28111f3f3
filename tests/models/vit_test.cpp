#include <set>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr VitShape kSmall = {
    .patch = 4, .width = 6, .depth = 2, .heads = 3, .hidden = 8};

VisionTransformer make(int64_t size, double dropout = 0, int64_t channels = 3) {
  return {kSmall, VitOptions{dropout}, {channels, size, "train"}};
}

TEST(VisionTransformer, GivesAMapOfPatchesAndATokenAfterTheLastNorm) {
  VisionTransformer net = make(12);
  const Features out =
      net.forward(random_normal({2, 3, 12, 12}, 1, at::kFloat));
  EXPECT_EQ(out.map.sizes(), (std::vector<int64_t>{2, 6, 3, 3}));
  EXPECT_EQ(out.token.sizes(), (std::vector<int64_t>{2, 6}));
  EXPECT_LE(max_difference(out.token.mean(1), torch::zeros({2})), 1e-6);
  EXPECT_LE(max_difference(out.map.mean(1), torch::zeros({2, 3, 3})), 1e-6);
}

// A change of one patch must show most at its own place of the map if blocks
// do nothing.
TEST(VisionTransformer, APatchStandsAtItsPlaceInTheMap) {
  VisionTransformer net = make(12);
  const torch::NoGradGuard no_grad;
  for (auto& entry : net.named_parameters()) {
    if (entry.key().find("out_proj") != std::string::npos ||
        entry.key().find("mlp.3") != std::string::npos) {
      entry.value().zero_();
    }
  }
  const Tensor a = random_normal({1, 3, 12, 12}, 1, at::kFloat);
  Tensor b = a.clone();
  b.slice(2, 4, 8).slice(3, 8, 12).add_(
      random_normal({1, 3, 4, 4}, 2, at::kFloat));
  const Tensor change =
      (net.forward(a).map - net.forward(b).map).abs().amax({0, 1});
  Tensor expected = torch::zeros({3, 3}, torch::kBool);
  expected[1][2] = true;
  EXPECT_TRUE(torch::equal(change > 1e-4, expected)) << change;
}

TEST(VisionTransformer, IsTrainedThroughTokenAndMap) {
  VisionTransformer net = make(8);
  const Features out = net.forward(random_normal({2, 3, 8, 8}, 1, at::kFloat));
  (out.token.square().select(1, 0).sum() + out.map.square().select(1, 0).sum())
      .backward();
  for (const auto& entry : net.named_parameters()) {
    ASSERT_TRUE(entry.value().grad().defined()) << entry.key();
  }
}

TEST(VisionTransformer, DropoutWorksInTrainingOnly) {
  VisionTransformer net = make(8, 0.5);
  const Tensor images = random_normal({2, 3, 8, 8}, 1, at::kFloat);
  EXPECT_FALSE(
      torch::equal(net.forward(images).token, net.forward(images).token));
  net.eval();
  EXPECT_TRUE(
      torch::equal(net.forward(images).token, net.forward(images).token));
}

TEST(VisionTransformer, RefusesSizesThatPatchesDoNotFill) {
  expect_error<ConfigError>([] { make(10); }, "model.input.size",
                            "multiple of the 4 pixels", "got 10");
  expect_error<ConfigError>([] { make(2); }, "model.input.size");
  VisionTransformer net = make(8);
  EXPECT_THROW(net.forward(torch::zeros({1, 3, 12, 12})), c10::ValueError);
  expect_error<ConfigError>(
      [] {
        backbone_registry().make(parse_config("{name: vit_b_16}", "test"),
                                 "model.backbone", {3, 100, "train"});
      },
      "model.input.size", "16 pixels");
}

/// The names and shapes of a small transformer of timm for 8 x 8 pictures.
NamedTensors timm_weights() {
  NamedTensors all = {{"cls_token", torch::ones({1, 1, 6})},
                      {"pos_embed", torch::ones({1, 5, 6})},
                      {"patch_embed.proj.weight", torch::ones({6, 3, 4, 4})},
                      {"patch_embed.proj.bias", torch::ones({6})}};
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    for (const auto& [name, out, in] :
         {std::tuple("attn.qkv", 18, 6), std::tuple("attn.proj", 6, 6),
          std::tuple("mlp.fc1", 8, 6), std::tuple("mlp.fc2", 6, 8),
          std::tuple("norm1", 6, 0), std::tuple("norm2", 6, 0)}) {
      all.emplace_back(block + name + ".weight",
                       in ? torch::ones({out, in}) : torch::ones({out}));
      all.emplace_back(block + name + ".bias", torch::ones({out}));
    }
  }
  all.emplace_back("norm.weight", torch::ones({6}));
  all.emplace_back("norm.bias", torch::ones({6}));
  return all;
}

void expect_fits(const VisionTransformer& net, NamedTensors weights) {
  net.adapt_weights(weights);
  const auto parameters = net.named_parameters();
  EXPECT_EQ(weights.size(), parameters.size());
  std::set<std::string> seen;
  for (const auto& [name, tensor] : weights) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    ASSERT_TRUE(parameters.contains(name)) << name;
    EXPECT_EQ(tensor.sizes(), parameters[name].sizes()) << name;
  }
}

TEST(VisionTransformer, WeightsOfTimmFitByNameAndShape) {
  expect_fits(make(8), timm_weights());
  expect_fits(make(16), timm_weights());        // a larger picture
  expect_fits(make(4), timm_weights());         // a smaller one
  expect_fits(make(12, 0, 1), timm_weights());  // a grey one
}

TEST(VisionTransformer, WeightsOfItsOwnFitAndStay) {
  const VisionTransformer net = make(8);
  NamedTensors weights;
  for (const auto& entry : net.named_parameters()) {
    weights.emplace_back(entry.key(), entry.value());
  }
  expect_fits(net, weights);
  NamedTensors adapted = weights;
  net.adapt_weights(adapted);
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_TRUE(adapted[i].second.is_same(weights[i].second));
  }
}

}  // namespace
}  // namespace kith
