// Parameters that stay as they are (train.freeze): the others train as if
// those were constants, and nothing is computed or kept for them.

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/safetensors.h"
#include "kith/run/checkpoint.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

MemorySet make_frozen_pictures() {
  std::vector<Item> items(96);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = i >= 48 ? Split::kTest : Split::kTrain;
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

std::map<std::string, Tensor> copy_of(const NamedTensors& tensors) {
  std::map<std::string, Tensor> copy;
  for (const auto& [name, tensor] : tensors) {
    copy.emplace(name, tensor.detach().clone());
  }
  return copy;
}

bool is_of_first_blocks(const std::string& name) {
  return name.starts_with("backbone.block1_") ||
         name.starts_with("backbone.block2_");
}

TEST(Freeze, KeepsWeightsAndStatistics) {
  const MemorySet data = make_frozen_pictures();
  const RunConfig config =
      tiny_config({"train.freeze=[backbone.block1_*, 'backbone.block2_?o*']",
                   "optimizer.weight_decay=0.1"});
  const TempDir folder;
  const LogCapture log;
  Trainer trainer(config, data, folder.path(), c10::kCPU, silent_progress());
  // Blocks of 8 channels: 3 x 3 x 1 and 3 x 3 x 8 weights, scale and shift.
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("1329 of 2009 parameters of the network "
                                 "train; 6 of 15 tensors stay as they are")));
  const auto before = copy_of(trainer.net().state());
  trainer.run();
  for (const auto& [name, tensor] : trainer.net().state()) {
    const bool same = same_bits(tensor.detach(), before.at(name));
    EXPECT_EQ(same, is_of_first_blocks(name)) << name;
  }
  // No state of the optimiser either.
  const SafetensorsFile last(folder.file("checkpoints/last.safetensors"));
  EXPECT_EQ(last.find("optimizer.exp_avg.backbone.block1_conv.weight"),
            nullptr);
  EXPECT_NE(last.find("optimizer.exp_avg.backbone.block3_conv.weight"),
            nullptr);
}

// A network of constants below the lowest layer that trains: no graph there.
TEST(Freeze, LeavesNoGraphBelowTheLowestTrainedLayer) {
  EmbeddingNet net(*tiny_config({}).tree.find("model"));
  net.freeze({"backbone"});
  net.train();
  const Tensor images = random_normal({4, 1, 16, 16}, 1, at::kFloat);
  EXPECT_FALSE(net.backbone().forward(images).map.requires_grad());
  EXPECT_TRUE(net.forward(images).requires_grad());
  for (const auto& module : net.backbone().modules()) {
    if (module->as<torch::nn::BatchNorm2dImpl>() == nullptr) continue;
    EXPECT_FALSE(module->is_training());
  }
  net.freeze({"backbone.block1_conv"});  // instead of the others
  net.train();
  EXPECT_TRUE(net.backbone().forward(images).map.requires_grad());
  EXPECT_EQ(net.trained().size() + 1, net.weights().size());
  for (const auto& module : net.backbone().modules()) {
    EXPECT_TRUE(module->is_training());  // a norm that trains has statistics
  }
}

/// The gradients of what trains are those of a network that trains whole, with
/// batch norm that keeps its statistics.
TEST(Freeze, LeavesTheOtherGradientsAsTheyAre) {
  const RunConfig config = tiny_config({"model.bn=stats"});
  EmbeddingNet net(*config.tree.find("model"));
  const Tensor images = random_normal({4, 1, 16, 16}, 2, at::kFloat);
  net.train();
  net.forward(images).pow(3).sum().backward();
  std::map<std::string, Tensor> whole;
  for (const auto& [name, weight] : net.weights()) {
    whole.emplace(name, weight.grad().clone());
    Tensor(weight).mutable_grad().reset();
  }
  net.freeze({"backbone.block2_*", "head.linear.bias"});
  net.forward(images).pow(3).sum().backward();
  for (const auto& [name, weight] : net.weights()) {
    const bool is_kept =
        name.starts_with("backbone.block2_") || name == "head.linear.bias";
    ASSERT_EQ(weight.grad().defined(), !is_kept) << name;
    if (!is_kept) {
      EXPECT_TRUE(same_bits(weight.grad(), whole.at(name))) << name;
    }
  }
}

TEST(Freeze, InChunksIsAsInOnePass) {
  const MemorySet data = make_frozen_pictures();
  std::vector<std::vector<std::pair<int64_t, double>>> curves;
  for (const std::string chunks : {"train.sub_batch=0", "train.sub_batch=6"}) {
    const TempDir folder;
    Trainer(tiny_config({"model.bn=stats", "train.freeze=[backbone.block1_*]",
                         "train.keep_graphs=none", chunks}),
            data, folder.path(), c10::kCPU, silent_progress())
        .run();
    curves.push_back(loss_curve(folder.file("log.jsonl")));
  }
  ASSERT_EQ(curves[0].size(), 9u);
  for (size_t i = 0; i < curves[0].size(); ++i) {
    EXPECT_NEAR(curves[0][i].second, curves[1][i].second, 1e-4) << i;
  }
}

// By the names that its weights have there.
TEST(Freeze, TakesAUsersOwnNetworkToo) {
  torch::nn::Sequential own(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 2, 3)),
      torch::nn::BatchNorm2d(2), torch::nn::Flatten(),
      torch::nn::Linear(2 * 6 * 6, 4));
  EmbeddingNet net({.size = 8, .colour = "grey"}, own);
  net.freeze({"0", "1"});
  net.freeze_backbone(false);  // as a training does
  net.train();
  EXPECT_FALSE(own[1]->is_training());
  EXPECT_TRUE(own[3]->is_training());
  ASSERT_EQ(net.trained().size(), 2u);
  EXPECT_EQ(net.trained()[0].first, "3.weight");
  for (const auto& [name, weight] : net.weights()) {
    EXPECT_EQ(weight.requires_grad(), name.starts_with("3.")) << name;
  }
}

TEST(Freeze, RefusesWhatLeavesNothingOrFitsNothing) {
  const MemorySet data = make_frozen_pictures();
  const auto make = [&](const std::vector<std::string>& changes) {
    const TempDir folder;
    Trainer(tiny_config(changes), data, folder.path(), c10::kCPU,
            silent_progress());
  };
  expect_error<ConfigError>(
      [&] { make({"train.freeze=[backbone.layer1.*]"}); },
      "'train.freeze': 'backbone.layer1.*' fits no parameter of the network; "
      "the nearest names are backbone.block1_norm");
  expect_error<ConfigError>([&] { make({"train.freeze=['*']"}); },
                            "'train.freeze' keeps all parameters");
  expect_error<ConfigError>(
      [&] {
        make({"train.freeze=[head]", "train.head_epochs=1"});
      },
      "'train.head_epochs' trains the head alone, and 'train.freeze'");
}

}  // namespace
}  // namespace kith
