// Learning rates of parts: by layer and with warm-ups of their own.

#include "kith/train/parameter_groups.h"

#include <cmath>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "kith/train/optimizers.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::map<std::string, int64_t> layers_of(const std::string& backbone,
                                         int size) {
  EmbeddingNet net(complete_model(
      parse_config("{input: {size: " + std::to_string(size) +
                       ", colour: rgb}, backbone: {name: " + backbone + "}}",
                   "test")));
  return layers_above(net);
}

/// It takes a while to make.
const std::map<std::string, int64_t>& layers_of_transformer() {
  static const auto layers = layers_of("vit_b_32", 32);
  return layers;
}

/// The number in the name of a block; -1: it has none.
int64_t block_in(const std::string& name) {
  std::smatch found;
  return std::regex_search(name, found,
                           std::regex(R"((?:encoder_layer_|blocks\.)(\d+))"))
             ? std::stoll(found[1])
             : -1;
}

MemorySet grouped_pictures() {
  std::vector<Item> items(64);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = Split::kTrain;
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

TEST(LayersAbove, OfAResnetAreItsBlocks) {
  const auto above = layers_of("resnet18", 32);
  // The stem, eight blocks, the head.
  EXPECT_EQ(above.at("backbone.conv1.weight"), 9);
  EXPECT_EQ(above.at("backbone.bn1.bias"), 9);
  EXPECT_EQ(above.at("backbone.layer1.0.conv1.weight"), 8);
  EXPECT_EQ(above.at("backbone.layer1.1.bn2.weight"), 7);
  EXPECT_EQ(above.at("backbone.layer2.0.conv1.weight"), 6);
  EXPECT_EQ(above.at("backbone.layer2.0.downsample.0.weight"), 6);
  EXPECT_EQ(above.at("backbone.layer4.1.conv2.weight"), 1);
  EXPECT_FALSE(above.contains("head.linear.weight"));
}

// As in the code of BEiT: embeddings 0, blocks 1 to 12, of 14 layers with the
// head; and timm's rule that the last norm goes with the last block.
TEST(LayersAbove, OfAVisionTransformerAreItsBlocks) {
  const auto& above = layers_of_transformer();
  std::map<int64_t, int64_t> tensors;
  for (const auto& [name, count] : above) ++tensors[count];
  ASSERT_EQ(tensors.size(), 13u);
  EXPECT_EQ(tensors.begin()->first, 1);
  EXPECT_EQ(tensors.rbegin()->first, 13);
  EXPECT_EQ(tensors.at(13), 4);      // class token, positions, projection
  EXPECT_EQ(tensors.at(12), 12);     // a block: 2 norms and 4 linear layers
  EXPECT_EQ(tensors.at(1), 12 + 2);  // and the last norm
}

TEST(LayersAbove, OfTheOtherBackbones) {
  const auto convnet = layers_of("convnet", 16);
  EXPECT_EQ(convnet.at("backbone.block1_conv.weight"), 4);
  EXPECT_EQ(convnet.at("backbone.block1_norm.bias"), 4);
  EXPECT_EQ(convnet.at("backbone.block4_conv.weight"), 1);
  // Each with its nine blocks or ten and what is before them.
  for (const auto& [name, first] :
       {std::pair("googlenet", "backbone.conv1.conv.weight"),
        std::pair("inception_v1", "backbone.conv1_7x7_s2.weight")}) {
    EXPECT_EQ(layers_of(name, 64).at(first), 10) << name;
  }
  EXPECT_EQ(layers_of("bn_inception", 64).at("backbone.conv1_7x7_s2.weight"),
            11);
  const auto mobilenet = layers_of("mobilenet_v2", 32);
  EXPECT_EQ(mobilenet.at("backbone.features.0.0.weight"), 19);
  EXPECT_EQ(mobilenet.at("backbone.features.18.0.weight"), 1);
  const auto mlp = layers_of("mlp", 8);
  int64_t most = 0;
  for (const auto& [name, count] : mlp) most = std::max(most, count);
  EXPECT_EQ(most, 2);  // two hidden layers
}

TEST(LayersAbove, OfAUsersOwnNetworkHaveNoHead) {
  torch::nn::Sequential net(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 2, 3)), torch::nn::ReLU(),
      torch::nn::Flatten(), torch::nn::Linear(2 * 6 * 6, 4));
  EmbeddingNet own({.size = 8, .colour = "grey"}, net);
  const auto above = layers_above(own);
  EXPECT_EQ(above.at("0.weight"), 1);
  EXPECT_EQ(above.at("3.weight"), 0);
}

TEST(NumberedLayer, IsTheFirstPartWithANumber) {
  EXPECT_EQ(numbered_layer("blocks.11.attn.qkv.weight"), "blocks.11");
  EXPECT_EQ(numbered_layer("stages.2.blocks.5.mlp.fc1.bias"),
            "stages.2.blocks.5");
  EXPECT_EQ(numbered_layer("encoder.layers.encoder_layer_3.mlp.0.weight"),
            "encoder.layers.encoder_layer_3");
  EXPECT_EQ(numbered_layer("layer3.2.downsample.1.weight"), "layer3.2");
  EXPECT_EQ(numbered_layer("conv1.weight"), "");
  EXPECT_EQ(numbered_layer("norm.weight"), "");
}

/// What a step of plain SGD with gradients of one takes from each parameter.
std::vector<double> steps_of(const GroupOptions& groups,
                             const std::map<std::string, int64_t>& layers,
                             const std::vector<std::string>& names,
                             const StepTime& time = {}) {
  NamedTensors parameters;
  for (const std::string& name : names) {
    parameters.emplace_back(name, torch::zeros({1}, at::kDouble));
    parameters.back().second.requires_grad_().mutable_grad() =
        torch::ones({1}, at::kDouble);
  }
  SgdOptimizer optimizer({.lr = 1, .groups = groups, .momentum = 0},
                         parameters);
  optimizer.set_layers_above(layers);
  optimizer.step(0.1, time);
  std::vector<double> taken;
  for (const auto& [name, parameter] : parameters) {
    taken.push_back(-parameter.item<double>());
  }
  return taken;
}

// lr decay^(L - l) for layers l = 0 (stem) to L (head), by hand for 0.5.
TEST(LayerDecay, IsAPowerOfTheLayersAbove) {
  const std::vector<std::string> names = {"backbone.conv1.weight",
                                          "backbone.layer1.0.conv1.weight",
                                          "backbone.layer1.1.conv1.weight",
                                          "backbone.layer4.1.conv2.weight",
                                          "head.linear.weight",
                                          "loss.proxies"};
  const auto layers = layers_of("resnet18", 32);
  const std::vector<double> expected = {0.1 / 512, 0.1 / 256, 0.1 / 128,
                                        0.1 / 2,   0.1,       0.1};
  const std::vector<double> taken =
      steps_of({.layer_decay = 0.5}, layers, names);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_DOUBLE_EQ(taken[i], expected[i]) << names[i];
  }
  // Beside the factor of the part.
  const std::vector<double> slower =
      steps_of({.backbone_lr = 0.25, .layer_decay = 0.5}, layers, names);
  EXPECT_DOUBLE_EQ(slower[3], 0.1 / 8);
  EXPECT_DOUBLE_EQ(slower[4], 0.1);
  const std::vector<double> plain = steps_of({}, layers, names);
  EXPECT_EQ(plain, std::vector<double>(names.size(), 0.1));
}

// vit_base at 0.65, as the table in the code of BEiT has it.
TEST(LayerDecay, OfAVisionTransformer) {
  const auto& above = layers_of_transformer();
  for (const auto& [name, count] : above) {
    const bool is_last_norm = name.ends_with("ln.weight") ||
                              name.ends_with("ln.bias") ||
                              name.starts_with("backbone.norm.");
    const int64_t layer = is_last_norm ? 12 : block_in(name) + 1;
    const std::vector<double> taken =
        steps_of({.layer_decay = 0.65}, above, {name});
    EXPECT_NEAR(taken[0], 0.1 * std::pow(0.65, static_cast<double>(13 - layer)),
                1e-15)
        << name;
  }
}

TEST(LayerDecay, NeedsToKnowTheLayers) {
  NamedTensors parameters = {{"w", torch::zeros({1}).requires_grad_()}};
  SgdOptimizer optimizer({.groups = {.layer_decay = 0.5}}, parameters);
  expect_error<ConfigError>([&] { optimizer.step(0.1); },
                            "Optimizer::set_layers_above()");
}

TEST(LayerDecay, IsToldOnce) {
  const MemorySet data = grouped_pictures();
  const TempDir folder;
  const LogCapture log;
  Trainer trainer(tiny_config({"optimizer.layer_decay=0.5", "eval.split=none"}),
                  data, folder.path(), c10::kCPU, silent_progress());
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("optimizer.layer_decay: 4 layers, with 0.0625 "
                                 "(the first) to 0.5 of the learning rate")));
}

// min(1, max(epoch / warm-up, 0.01)) of each part's own epochs.
TEST(WarmUpOfParts, CountsTheEpochsOfThePart) {
  const GroupOptions groups = {
      .backbone_warmup = 4, .head_warmup = 2, .loss_warmup = 0.5};
  const std::vector<std::string> names = {"backbone.w", "head.w", "loss.w",
                                          "other"};
  const auto at = [&](double epoch, double backbone_epoch) {
    return steps_of(groups, {}, names, {epoch, backbone_epoch});
  };
  const auto expect_near = [](const std::vector<double>& taken,
                              const std::vector<double>& expected) {
    for (size_t i = 0; i < taken.size(); ++i) {
      EXPECT_NEAR(taken[i], 0.1 * expected[i], 1e-12) << i;
    }
  };
  expect_near(at(0, 0), {0.01, 0.01, 0.01, 1});
  expect_near(at(1, 1), {0.25, 0.5, 1, 1});
  // Two epochs of the head came first.
  expect_near(at(3, 1), {0.25, 1, 1, 1});
  expect_near(at(7, 5), {1, 1, 1, 1});
  expect_near(steps_of(groups, {}, names), {1, 1, 1, 1});
}

/// The largest change that a run has made in a tensor of its network.
double change_of(const std::vector<std::string>& changes,
                 const std::string& name) {
  const MemorySet data = grouped_pictures();
  const TempDir folder;
  Trainer trainer(tiny_config(changes), data, folder.path(), c10::kCPU,
                  silent_progress());
  const auto tensor = [&] {
    for (const auto& [key, weight] : trainer.net().weights()) {
      if (key == name) return weight.detach().clone();
    }
    return Tensor();
  };
  const Tensor before = tensor();
  trainer.run();
  return max_difference(tensor(), before);
}

// The first step of Adam has the size of its learning rate.
TEST(WarmUpOfParts, HoldsInATraining) {
  const std::vector<std::string> one_step = {
      "eval.split=none", "train.steps=1", "train.clip_norm=0",
      "schedule={name: constant}", "sampler.batch=32"};
  const auto with = [&](const std::string& change) {
    std::vector<std::string> all = one_step;
    all.push_back(change);
    return all;
  };
  const std::string backbone = "backbone.block2_conv.weight";
  const std::string head = "head.linear.weight";
  EXPECT_NEAR(change_of(one_step, backbone), 0.003, 1e-4);
  EXPECT_NEAR(change_of(with("optimizer.backbone_warmup=1"), backbone), 0.00003,
              1e-6);
  EXPECT_NEAR(change_of(with("optimizer.backbone_warmup=1"), head), 0.003,
              1e-4);
  EXPECT_NEAR(change_of(with("optimizer.head_warmup=1"), head), 0.00003, 1e-6);
}

}  // namespace
}  // namespace kith
