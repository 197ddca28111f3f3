#include "kith/models/adapt_weights.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

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
