#include "kith/models/adapt_weights.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::string renamed(const std::string& name) {
  NamedTensors weights = {{name, Tensor()}};
  rename_vit_weights(weights);
  return weights[0].first;
}

TEST(RenameVitWeights, KnowsTimmAndTheFirstTorchvision) {
  const std::string layer = "encoder.layers.encoder_layer_11.";
  EXPECT_EQ(renamed("cls_token"), "class_token");
  EXPECT_EQ(renamed("pos_embed"), "encoder.pos_embedding");
  EXPECT_EQ(renamed("patch_embed.proj.bias"), "conv_proj.bias");
  EXPECT_EQ(renamed("norm.weight"), "encoder.ln.weight");
  EXPECT_EQ(renamed("blocks.11.attn.qkv.weight"),
            layer + "self_attention.in_proj_weight");
  EXPECT_EQ(renamed("blocks.11.attn.qkv.bias"),
            layer + "self_attention.in_proj_bias");
  EXPECT_EQ(renamed("blocks.11.attn.proj.bias"),
            layer + "self_attention.out_proj.bias");
  EXPECT_EQ(renamed("blocks.11.norm1.weight"), layer + "ln_1.weight");
  EXPECT_EQ(renamed("blocks.11.norm2.bias"), layer + "ln_2.bias");
  EXPECT_EQ(renamed("blocks.11.mlp.fc1.weight"), layer + "mlp.0.weight");
  EXPECT_EQ(renamed(layer + "mlp.linear_1.bias"), layer + "mlp.0.bias");
  EXPECT_EQ(renamed(layer + "mlp.linear_2.bias"), layer + "mlp.3.bias");
}

TEST(RenameVitWeights, LeavesOtherNames) {
  for (const char* name :
       {"head.weight", "fc_norm.weight", "pos_embedding", "blocks.1",
        "encoder.layers.encoder_layer_0.mlp.0.weight", "normal.weight", ""}) {
    EXPECT_EQ(renamed(name), name);
  }
}

TEST(RenameTensors, KnowsModulesTensorsAndPrefixes) {
  const OtherNames names = {{"stem.conv", "features.0"},
                            {"blocks.0.gamma", "features.1.scale"}};
  const auto named = [&](const std::string& name) {
    NamedTensors weights = {{name, Tensor()}};
    rename_tensors(weights, names, {"net.", "other."});
    return weights[0].first;
  };
  EXPECT_EQ(named("stem.conv.weight"), "features.0.weight");
  EXPECT_EQ(named("net.stem.conv.bias"), "features.0.bias");
  EXPECT_EQ(named("other.blocks.0.gamma"), "features.1.scale");
  // Only whole modules, and prefixes only before a name that is known.
  for (const char* name :
       {"stem.convolution.weight", "stem", "net.head.weight", "net.net.stem",
        "blocks.0.gamma.weight.x", "features.0.weight", ""}) {
    EXPECT_EQ(named(name), name);
  }
}

TEST(FitUnitDimensions, TakesALinearLayerForAConvolution) {
  torch::nn::Module net;
  net.register_parameter("conv", torch::zeros({4, 3, 1, 1}));
  net.register_parameter("scale", torch::zeros({4, 1, 1}));
  const Tensor linear = random_normal({4, 3}, 1);
  NamedTensors weights = {{"conv", linear},
                          {"scale", random_normal({4}, 2)},
                          {"other", linear},
                          {"conv", random_normal({3, 4}, 3)}};
  fit_unit_dimensions(weights, net);
  EXPECT_TRUE(torch::equal(weights[0].second.flatten(1), linear));
  EXPECT_EQ(weights[0].second.dim(), 4);
  EXPECT_EQ(weights[1].second.sizes(), (std::vector<int64_t>{4, 1, 1}));
  EXPECT_TRUE(weights[2].second.is_same(linear));
  EXPECT_EQ(weights[3].second.dim(), 2);  // another shape stays
}

Tensor positions_resized(const Tensor& positions, int64_t side) {
  NamedTensors weights = {{"other", positions}, {"p", positions}};
  resize_positions(weights, "p", side);
  EXPECT_TRUE(weights[0].second.is_same(positions));
  return weights[1].second;
}

TEST(ResizePositions, KeepsTheTokenAndInterpolatesTheGrid) {
  const Tensor positions = random_normal({1, 10, 4}, 1, at::kFloat);
  const Tensor larger = positions_resized(positions, 7);
  ASSERT_EQ(larger.sizes(), (std::vector<int64_t>{1, 50, 4}));
  EXPECT_TRUE(torch::equal(larger.select(1, 0), positions.select(1, 0)));
  const Tensor grid =
      positions.slice(1, 1).transpose(1, 2).reshape({1, 4, 3, 3});
  const Tensor expected =
      torch::upsample_bicubic2d(grid, {7, 7}, false).flatten(2).transpose(1, 2);
  EXPECT_LE(max_difference(larger.slice(1, 1), expected), 1e-6);
}

TEST(ResizePositions, KeepsRowsAndColumnsApart) {
  Tensor positions = torch::zeros({1, 1 + 64, 2});
  const Tensor line = torch::arange(8, torch::kFloat);
  positions.slice(1, 1).select(2, 0).copy_(line.repeat_interleave(8));  // y
  positions.slice(1, 1).select(2, 1).copy_(line.repeat({8}));           // x
  const Tensor grid =
      positions_resized(positions, 16).slice(1, 1).view({16, 16, 2});
  const Tensor y = grid.select(2, 0), x = grid.select(2, 1);
  EXPECT_LE(max_difference(y, x.t()), 1e-5);
  EXPECT_LE(max_difference(y, y.slice(1, 0, 1).expand({16, 16})), 1e-5);
  EXPECT_GT((y.slice(0, 1) - y.slice(0, 0, 15)).min().item<float>(), 0);
}

TEST(ResizePositions, LeavesWhatIsNoSquareGrid) {
  for (const Tensor& odd :
       {torch::ones({1, 12, 4}), torch::ones({1, 1, 4}), torch::ones({1, 0, 4}),
        torch::ones({2, 10, 4}), torch::ones({10, 4}), torch::ones({1, 10, 0}),
        torch::ones({})}) {
    EXPECT_TRUE(positions_resized(odd, 2).is_same(odd)) << odd.sizes();
  }
  const Tensor fits = torch::ones({1, 10, 4});
  EXPECT_TRUE(positions_resized(fits, 3).is_same(fits));
}

TEST(ResizePositions, TakesHalfPrecision) {
  const Tensor half = torch::ones({1, 10, 4}, torch::kHalf);
  EXPECT_LE(max_difference(positions_resized(half, 5), torch::ones({1, 26, 4})),
            1e-6);
}

TEST(RenameCaffeWeights, TurnsSlashes) {
  NamedTensors weights = {{"inception_3a/5x5_reduce.bias", Tensor()},
                          {"conv1_7x7_s2.weight", Tensor()}};
  rename_caffe_weights(weights);
  EXPECT_EQ(weights[0].first, "inception_3a_5x5_reduce.bias");
  EXPECT_EQ(weights[1].first, "conv1_7x7_s2.weight");
}

TEST(AdaptChannels, SumsTheColoursForAGreyModelOnly) {
  const Tensor weight = random_normal({4, 3, 5, 5}, 1, at::kFloat);
  const auto adapted = [](const Tensor& tensor, int64_t channels) {
    NamedTensors weights = {{"other", tensor}, {"conv1.weight", tensor}};
    adapt_channels(weights, "conv1.weight", channels);
    EXPECT_TRUE(weights[0].second.is_same(tensor));
    return weights[1].second;
  };
  EXPECT_TRUE(adapted(weight, 3).is_same(weight));
  const Tensor grey = adapted(weight, 1);
  const Tensor image = random_normal({1, 1, 9, 9}, 2, at::kFloat);
  EXPECT_LE(max_difference(torch::conv2d(image, grey),
                           torch::conv2d(image.expand({1, 3, 9, 9}), weight)),
            1e-4);
  const Tensor flat = torch::ones({4, 3});
  EXPECT_TRUE(adapted(flat, 1).is_same(flat));
}

}  // namespace
}  // namespace kith
