// Names and layouts of published files. That the numbers are right is
// vit_golden_test.cpp's.

#include "kith/models/vit_weights.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/vit_names.h"
#include "kith/models/weights.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

VitOptions tiny() {
  return {.patch = 4, .width = 6, .depth = 2, .heads = 3, .hidden = 8};
}

VisionTransformer net_of(const VitOptions& options, int64_t size,
                         int64_t channels = 3) {
  return VisionTransformer(options, {channels, size, "train"});
}

NamedTensors weights_of(const VisionTransformer& net) {
  NamedTensors weights;
  for (const auto& entry : net.named_parameters()) {
    weights.emplace_back(entry.key(), entry.value().detach().clone());
  }
  return weights;
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

TEST(VitName, KnowsTorchvisionOfAllVersions) {
  const std::string layer = "encoder.layers.encoder_layer_11.";
  EXPECT_EQ(vit_name("class_token"), "cls_token");
  EXPECT_EQ(vit_name("encoder.pos_embedding"), "pos_embed");
  EXPECT_EQ(vit_name("conv_proj.bias"), "patch_embed.proj.bias");
  EXPECT_EQ(vit_name("encoder.ln.weight"), "norm.weight");
  EXPECT_EQ(vit_name(layer + "self_attention.in_proj_weight"),
            "blocks.11.attn.qkv.weight");
  EXPECT_EQ(vit_name(layer + "self_attention.out_proj.bias"),
            "blocks.11.attn.proj.bias");
  EXPECT_EQ(vit_name(layer + "ln_1.weight"), "blocks.11.norm1.weight");
  EXPECT_EQ(vit_name(layer + "mlp.0.bias"), "blocks.11.mlp.fc1.bias");
  EXPECT_EQ(vit_name(layer + "mlp.linear_2.bias"), "blocks.11.mlp.fc2.bias");
}

TEST(VitName, CountsBlocksOfDinov2InChunks) {
  EXPECT_EQ(vit_name("blocks.1.7.norm1.weight"), "blocks.7.norm1.weight");
  EXPECT_EQ(vit_name("blocks.0.3.mlp.w12.bias"), "blocks.3.mlp.fc1.bias");
}

TEST(VitName, LeavesOtherNames) {
  for (const char* name : {"head.weight", "fc_norm.weight", "blocks.1",
                           "blocks.x.norm1.weight", "blocks.0.attn.qkv.weight",
                           "normal.weight", "blocks.", "layer1.0.bn1", ""}) {
    EXPECT_EQ(vit_name(name), name);
  }
}

TEST(VitWeights, OfKithFitAndStay) {
  const VisionTransformer net = net_of(tiny(), 8);
  const NamedTensors weights = weights_of(net);
  NamedTensors adapted = weights;
  net.adapt_weights(adapted);
  ASSERT_EQ(adapted.size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(adapted[i].first, weights[i].first);
    EXPECT_TRUE(adapted[i].second.is_same(weights[i].second));
  }
}

TEST(VitWeights, FitLargerSmallerAndGreyPictures) {
  const NamedTensors weights = weights_of(net_of(tiny(), 8));
  expect_fits(net_of(tiny(), 16), weights);
  expect_fits(net_of(tiny(), 4), weights);
  expect_fits(net_of(tiny(), 12, 1), weights);
}

TEST(VitWeights, PositionOfTheTokenGoesWhereTheNetworkHasIt) {
  NamedTensors weights = weights_of(net_of(tiny(), 8));
  VitOptions alone = tiny();
  alone.prefix_positions = false;
  const VisionTransformer net = net_of(alone, 8);
  const auto find = [](const NamedTensors& all, const std::string& name) {
    for (const auto& [key, tensor] : all) {
      if (key == name) return tensor;
    }
    return Tensor();
  };
  const Tensor sum =
      find(weights, "cls_token") + find(weights, "pos_embed").narrow(1, 0, 1);
  NamedTensors adapted = weights;
  net.adapt_weights(adapted);
  EXPECT_TRUE(torch::equal(find(adapted, "cls_token"), sum));
  EXPECT_TRUE(torch::equal(find(adapted, "pos_embed"),
                           find(weights, "pos_embed").narrow(1, 1, 4)));
  // And back: the same features of both.
  net_of(tiny(), 8).adapt_weights(adapted);
  EXPECT_TRUE(torch::equal(find(adapted, "cls_token"), sum));
  EXPECT_EQ(find(adapted, "pos_embed").size(1), 5);
  EXPECT_EQ(find(adapted, "pos_embed").select(1, 0).abs().sum().item<float>(),
            0);
}

TEST(VitWeights, OfAnotherNetworkStay) {
  const VisionTransformer net = net_of(tiny(), 8);
  NamedTensors resnet = {{"conv1.weight", torch::ones({4, 3, 7, 7})},
                         {"layer1.0.conv1.weight", torch::ones({4, 4, 3, 3})},
                         {"fc.weight", torch::ones({10, 4})}};
  NamedTensors adapted = resnet;
  net.adapt_weights(adapted);
  for (size_t i = 0; i < resnet.size(); ++i) {
    EXPECT_EQ(adapted[i].first, resnet[i].first);
    EXPECT_TRUE(adapted[i].second.is_same(resnet[i].second));
  }
  EXPECT_EQ(net.network_of(adapted), "");
}

/// Weights with one tensor replaced by another, or taken out.
NamedTensors with(const NamedTensors& weights, const std::string& name,
                  const Tensor& tensor) {
  NamedTensors changed;
  for (const auto& item : weights) {
    if (item.first != name) {
      changed.push_back(item);
    } else if (tensor.defined()) {
      changed.emplace_back(name, tensor);
    }
  }
  return changed;
}

std::string written(const TempDir& folder, const NamedTensors& weights) {
  std::vector<std::pair<std::string, ArrayView>> views;
  NamedTensors plain;
  for (const auto& [name, tensor] : weights) {
    plain.emplace_back(name, tensor.contiguous());
    views.emplace_back(name, view_of(plain.back().second));
  }
  const std::string path = folder.file("weights.safetensors");
  write_safetensors(path, views, {});
  return path;
}

TEST(VitWeights, WhatDoesNotFitNamesTensorShapesAndNetwork) {
  const TempDir folder;
  VisionTransformer net = net_of(tiny(), 8);
  const NamedTensors weights = weights_of(net);
  const std::string name = "blocks.1.mlp.fc1.weight";
  const std::string other =
      load_weights(written(folder, with(weights, name, torch::zeros({9, 6}))),
                   net)
          .summary();
  EXPECT_THAT(other, HasSubstr(name + ": [9, 6] in the file, [8, 6] in the "
                                      "model"));
  EXPECT_THAT(other, HasSubstr("the file is nearest to vit (patch 4, width 6, "
                               "depth 2)"));
  const std::string missing =
      load_weights(written(folder, with(weights, name, {})), net).summary();
  EXPECT_THAT(missing, HasSubstr("missing 1: " + name));
}

TEST(VitWeights, OfAnotherSizeNameTheirNetwork) {
  const TempDir folder;
  VitOptions wide = tiny();
  wide.width = 384;
  wide.patch = 14;
  wide.depth = 12;
  wide.hidden = 4;
  wide.layer_scale = 1;
  VisionTransformer theirs = net_of(wide, 28);
  NamedTensors weights = weights_of(theirs);
  weights.emplace_back("mask_token", torch::zeros({1, 384}));
  const std::string path = written(folder, weights);
  VisionTransformer net = net_of(tiny(), 8);
  expect_error<DataError>([&] { load_weights(path, net); }, path,
                          "no tensor fits",
                          "nearest to dinov2_vits14 "
                          "(patch 14, width 384, depth 12)");
}

// Every tensor in turn is a scalar, empty, of other dimensions, or not there.
TEST(VitWeights, HostileShapesAreReportedAndNothingElse) {
  for (const int64_t registers : {0, 1}) {
    VitOptions options = tiny();
    options.registers = registers;
    options.qkv_bias = registers == 0 ? "all" : "no_key";
    options.prefix_positions = registers == 0;
    const VisionTransformer net = net_of(options, 8);
    NamedTensors weights = weights_of(net);
    for (const char* part : {"q", "k", "v"}) {
      weights.emplace_back("blocks.5.attn." + std::string(part) + ".weight",
                           torch::ones({2, 2}));
      weights.emplace_back("blocks.5.attn." + std::string(part) + ".bias",
                           torch::ones({2}));
    }
    weights.emplace_back("blocks.0.mlp.fc1_g.weight", torch::ones({2, 2}));
    weights.emplace_back("blocks.999.norm1.weight", torch::ones({2}));
    weights.emplace_back("blocks.99999999999999999999.x.weight",
                         torch::ones({2}));
    weights.emplace_back("head.attention.in_proj_weight", torch::ones({4, 2}));
    for (const auto& [name, tensor] : weights) {
      for (const Tensor& hostile :
           {torch::ones({}), torch::ones({0}), torch::ones({1, 0, 6}),
            torch::ones({1, 3, 6}), torch::ones({1, 10, 6}),
            torch::ones({2, 2, 2, 2}), Tensor()}) {
        NamedTensors changed = with(weights, name, hostile);
        EXPECT_NO_THROW(net.adapt_weights(changed)) << name;
        EXPECT_NO_THROW(net.network_of(changed)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace kith
