// Trainings that are composed in C++, with networks of the user's own.

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/data/augmentations.h"
#include "kith/data/generated_sets.h"
#include "kith/losses/proxy_anchor.h"
#include "kith/losses/recall_at_k.h"
#include "kith/models/backbones.h"
#include "kith/run/checkpoint.h"
#include "kith/samplers/class_balanced.h"
#include "kith/train/multistage.h"
#include "kith/train/optimizers.h"
#include "kith/train/schedules.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

/// The network of tiny_config() as a user may write it.
struct OwnTinyNet : torch::nn::Module {
  OwnTinyNet() {
    backbone = register_module(
        "backbone", std::make_shared<Convnet>(ConvnetOptions{.width = 8},
                                              BackboneInput{1, 16}));
    head = register_module(
        "head", std::make_shared<Head>(HeadOptions{.dim = 16}, *backbone));
  }

  Tensor forward(Tensor x) { return head->forward(backbone->forward(x)); }

  std::shared_ptr<Convnet> backbone;
  std::shared_ptr<Head> head;
};

const InputOptions kTinyInput = {.size = 16, .colour = "grey"};

void seed_as_a_configuration() {
  torch::manual_seed(Rng(0, Stream::kInit).next());
}

std::shared_ptr<EmbeddingNet> own_tiny_net() {
  seed_as_a_configuration();
  return std::make_shared<EmbeddingNet>(kTinyInput,
                                        std::make_shared<OwnTinyNet>(),
                                        OwnNetworkOptions{.l2 = false});
}

/// tiny_config() in C++.
TrainerParts tiny_parts(std::shared_ptr<EmbeddingNet> net) {
  return {.net = std::move(net),
          .loss = part<RecallAtK>({.k = {1, 2}}),
          .sampler = part<ClassBalancedSampler>({.batch = 16}),
          .augment = {part<AffineAugmentation>()},
          .optimizer = part<AdamOptimizer>({.lr = 0.003}),
          .schedule = part<CosineSchedule>({.warmup_epochs = 0.5}),
          .train = {.epochs = 3, .clip_norm = 10, .workers = 2},
          .eval = {.every = 1},
          .log = {.examples = 1}};
}

class OwnTraining : public ::testing::Test {
 protected:
  std::string run(TrainerParts parts, const TempDir& folder) {
    Trainer(std::move(parts), data_, folder.path(), c10::kCPU,
            silent_progress())
        .run();
    return metrics(folder);
  }

  static std::string metrics(const TempDir& folder) {
    return read_file(folder.file("metrics.json"), 1 << 24);
  }

  /// Tensors and progress of the checkpoint; its configuration names the
  /// folder.
  static std::string weights(const TempDir& folder) {
    const std::string path = folder.file("checkpoints/last.safetensors");
    const std::string bytes = read_file(path, 1 << 24);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    return read_checkpoint_info(path).progress +
           bytes.substr(sizeof(header) + header);
  }

  /// A run as its configuration would have it.
  std::string run_configured(const TempDir& folder) {
    const RunConfig config = tiny_config();
    Trainer(config, data_, folder.path(), c10::kCPU, silent_progress()).run();
    return metrics(folder);
  }

  GlyphsDataSet data_{{.classes = 12, .per_class = 8}};
};

TEST_F(OwnTraining, NeedsNoEvaluation) {
  const TempDir folder;
  TrainerParts parts = tiny_parts(own_tiny_net());
  parts.eval = {.split = "none"};
  EXPECT_THAT(run(std::move(parts), folder), HasSubstr("\"last\": null"));
}

TEST_F(OwnTraining, OfOptionsIsThatOfTheConfiguration) {
  const TempDir typed, configured;
  seed_as_a_configuration();
  const auto net =
      EmbeddingNet::make<Convnet>({.width = 8}, kTinyInput, {.dim = 16});
  EXPECT_EQ(run(tiny_parts(net), typed), run_configured(configured));
  const std::string text = read_file(typed.file("config.yaml"), 1 << 20);
  const ConfigNode tree = parse_config(text, "config.yaml");
  const RunConfig expected = tiny_config();
  for (const char* section :
       {"data", "sampler", "augment", "model", "loss", "miner", "optimizer",
        "schedule", "train", "eval", "log"}) {
    ASSERT_NE(tree.find(section), nullptr) << section;
    EXPECT_EQ(to_yaml(*tree.find(section)), to_yaml(expected.section(section)))
        << section;
  }
  EXPECT_EQ(to_yaml(complete_config(tree).tree), to_yaml(tree));
}

TEST_F(OwnTraining, OfAnOwnModuleIsThatOfTheSameNetworkOfKith) {
  const TempDir own, configured;
  EXPECT_EQ(run(tiny_parts(own_tiny_net()), own), run_configured(configured));
}

TEST_F(OwnTraining, TakesObjects) {
  const TempDir objects, options;
  TrainerParts parts = tiny_parts(own_tiny_net());
  parts.loss = std::make_unique<RecallAtK>(RecallAtKOptions{.k = {1, 2}});
  parts.schedule = std::make_shared<CosineSchedule>(
      CosineScheduleOptions{.warmup_epochs = 0.5});
  EXPECT_EQ(run(std::move(parts), objects),
            run(tiny_parts(own_tiny_net()), options));
  EXPECT_THAT(read_file(objects.file("config.yaml"), 1 << 20),
              HasSubstr("name: recall_at_k\n  made: in C++"));
}

TEST_F(OwnTraining, ResumesToTheBit) {
  const TempDir whole;
  run(tiny_parts(own_tiny_net()), whole);
  for (const int at : {3, 11, 20}) {
    const TempDir folder;
    const auto go_on = [&](Progress& progress) {
      Trainer trainer(tiny_parts(own_tiny_net()), data_, folder.path(),
                      c10::kCPU, progress);
      trainer.resume();
      trainer.run();
    };
    InterruptingProgress progress(at);
    EXPECT_THROW(go_on(progress), Interrupted);
    go_on(silent_progress());
    EXPECT_EQ(metrics(folder), metrics(whole)) << at;
    EXPECT_EQ(weights(folder), weights(whole)) << at;
  }
}

TEST_F(OwnTraining, ResumesOnlyTheSameOptions) {
  const TempDir folder;
  run(tiny_parts(own_tiny_net()), folder);
  TrainerParts parts = tiny_parts(own_tiny_net());
  parts.optimizer = part<AdamOptimizer>({.lr = 0.1});
  Trainer trainer(std::move(parts), data_, folder.path(), c10::kCPU,
                  silent_progress());
  expect_error<ConfigError>([&] { trainer.resume(); }, "'optimizer.lr'");
}

TEST_F(OwnTraining, ItsNetworkIsLoadedOnlyWhereItIsMade) {
  const TempDir folder;
  run(tiny_parts(own_tiny_net()), folder);
  EXPECT_THAT(read_file(folder.file("config.yaml"), 1 << 20),
              HasSubstr("own: true"));
  expect_error<ConfigError>(
      [&] { load_model(folder.path(), c10::kCPU); },
      "last.safetensors: the network of this run is its user's own");
  expect_error<ConfigError>(
      [&] { complete_config(load_config(folder.file("config.yaml"))); },
      "the network of this run is its user's own");
  const auto net = own_tiny_net();
  load_checkpoint(find_checkpoint(folder.path()), {*net});
  // The names are the user's: they fit the module by itself.
  OwnTinyNet module;
  for (const auto& [name, tensor] : net->weights()) {
    EXPECT_NE(module.named_parameters().find(name), nullptr) << name;
  }
}

TEST_F(OwnTraining, NeedsANetworkAndLeavesTheRestToDefaults) {
  const TempDir folder;
  expect_error<ConfigError>([&] { run({}, folder); },
                            "a training needs a network");
  TrainerParts parts = {.net = own_tiny_net(),
                        .sampler = part<ClassBalancedSampler>({.batch = 16})};
  const Trainer trainer(std::move(parts), data_, folder.path(), c10::kCPU,
                        silent_progress());
  const ConfigNode& tree = trainer.config().tree;
  EXPECT_EQ(tree.find("loss")->find("name")->scalar, "recall_at_k");
  EXPECT_EQ(tree.find("optimizer")->find("name")->scalar, "adam");
  EXPECT_EQ(tree.find("schedule")->find("name")->scalar, "constant");
}

TEST_F(OwnTraining, ChecksWhatItIsGiven) {
  const TempDir folder;
  TrainerParts parts = tiny_parts(own_tiny_net());
  parts.train.epochs = 0;
  expect_error<ConfigError>([&] { run(parts, folder); }, "train.epochs");
  parts.train.epochs = 3;
  parts.train.head_epochs = 1;
  expect_error<ConfigError>([&] { run(parts, folder); },
                            "'train.head_epochs' trains the head alone");
  parts.train.head_epochs = 0;
  const LogCapture log;
  Trainer(parts, data_, folder.path(), c10::kCPU, silent_progress());
  EXPECT_THAT(log.warnings(),
              ::testing::Contains(HasSubstr("OwnNetworkOptions::l2 is false")));
}

TEST_F(OwnTraining, ChecksTheObjectsItIsGiven) {
  const TempDir folder;
  TrainerParts parts = tiny_parts(own_tiny_net());
  parts.loss = std::shared_ptr<RecallAtK>();
  expect_error<ConfigError>([&] { run(parts, folder); }, "'loss'", "nullptr");
  parts.loss = std::make_shared<ProxyAnchor>(
      ProxyAnchorOptions{}, LossContext{.classes = 2, .dim = parts.net->dim()});
  expect_error<ConfigError>([&] { run(parts, folder); },
                            "parameters for 2 classes");
}

/// A sampler that answers whatever it is told to.
class OwnSampler final : public Sampler {
 public:
  explicit OwnSampler(std::vector<std::vector<int64_t>> plan)
      : plan_(std::move(plan)) {}
  std::vector<std::vector<int64_t>> epoch(const EpochInput&) const override {
    return plan_;
  }

 private:
  std::vector<std::vector<int64_t>> plan_;
};

TEST_F(OwnTraining, ChecksTheBatchesOfAnOwnSampler) {
  const TempDir folder;
  TrainerParts parts = tiny_parts(own_tiny_net());
  const auto refused = [&](std::vector<std::vector<int64_t>> plan,
                           const std::string& problem) {
    parts.sampler = std::make_shared<OwnSampler>(std::move(plan));
    expect_error<ConfigError>([&] { run(parts, folder); }, "OwnSampler",
                              problem);
  };
  const auto beyond = static_cast<int64_t>(data_.list().items.size());
  refused({{0, 1}, {beyond, 0}}, "image " + std::to_string(beyond));
  refused({{-1, 0}}, "image -1");
  refused({{0, 1}, {}}, "empty batch");
  const std::vector<int64_t> test = data_.list().of_split(Split::kTest);
  ASSERT_FALSE(test.empty());
  refused({{0, test[0]}}, "none of the");
}

// A module and tensors of the user, without Trainer and EmbeddingNet.
TEST(OwnMultistage, ABatchOf4000InChunksHasTheGradientsOfOnePass) {
  constexpr int64_t kBatch = 4000;
  torch::manual_seed(1);
  const auto options = at::TensorOptions().dtype(at::kDouble);
  torch::nn::Sequential net(torch::nn::Flatten(), torch::nn::Linear(16, 12),
                            torch::nn::Tanh(), torch::nn::Linear(12, 8));
  net->to(at::kDouble);
  const Tensor items = torch::randn({kBatch, 1, 4, 4}, options);
  const Tensor labels = torch::arange(kBatch).div(4, "floor");
  const RecallAtK loss({.t2 = 0.05});
  const OwnNetwork network(
      [net](const Tensor& x) mutable {
        return torch::nn::functional::normalize(
            net->forward(x),
            torch::nn::functional::NormalizeFuncOptions().dim(1));
      },
      net.ptr());
  const auto gradients = [&] {
    std::vector<Tensor> all;
    for (Tensor& parameter : net->parameters()) {
      all.push_back(parameter.grad().clone());
      parameter.mutable_grad().reset();
    }
    return all;
  };
  loss(network.forward(items), labels).value.backward();
  const std::vector<Tensor> expected = gradients();
  for (const KeepGraphs keep : {KeepGraphs::kNone, KeepGraphs::kAll}) {
    Multistage multistage(network, c10::kCPU, 300, keep);
    const Tensor embeddings = multistage.embed(items, /*seed=*/1);
    EXPECT_EQ(multistage.chunks(), 14);
    loss(embeddings, labels).value.backward();
    multistage.backward(embeddings.grad());
    const std::vector<Tensor> got = gradients();
    for (size_t i = 0; i < got.size(); ++i) {
      const double scale = expected[i].abs().max().item<double>();
      EXPECT_LE(max_difference(got[i], expected[i]), 1e-9 * scale) << i;
    }
  }
}

}  // namespace
}  // namespace kith
