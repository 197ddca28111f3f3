// Options of the trainer for large batches, pretrained weights and losses that
// learn.

#include "kith/train/trainer.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "kith/run/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

struct HungryOptions {
  int64_t failures = 1;

  void describe(OptionSet& set) {
    set.add("failures", failures, "Calls that run out of memory.");
  }
};

/// Runs out of memory in its first calls, and learns a factor afterwards.
class HungryLoss final : public Loss {
 public:
  static constexpr const char* kSummary = "for tests: takes too much memory";
  using Options = HungryOptions;

  explicit HungryLoss(const Options& options)
      : failures_(options.failures),
        factor_(register_parameter("factor", torch::ones({1}))) {}

  LossOutput forward(const LossInput& input) const override {
    if (failures_-- > 0) {
      throw c10::OutOfMemoryError(
          {__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
          "CUDA out of memory");
    }
    return {(input.embeddings.square() * factor_).sum(), {}};
  }

 private:
  mutable int64_t failures_;
  Tensor factor_;
};

KITH_REGISTER(loss_registry(), "test_hungry", HungryLoss);

class LargeBatchTest : public ::testing::Test {
 protected:
  std::unique_ptr<Trainer> make(const std::vector<std::string>& changes) {
    config_ = tiny_config(changes);
    data_ = make_data_set(config_.section("data"));
    return std::make_unique<Trainer>(config_, *data_, folder_.path(), c10::kCPU,
                                     silent_progress());
  }

  std::string file(const std::string& name) const {
    return read_file(folder_.file(name), 1 << 24);
  }

  /// Of each step in the log.
  std::vector<double> learning_rates() const {
    std::vector<double> rates;
    std::istringstream lines(file("log.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.at("kind") == "step") rates.push_back(record.at("lr"));
    }
    return rates;
  }

  TempDir folder_;
  RunConfig config_;
  std::unique_ptr<DataSet> data_;
};

TEST_F(LargeBatchTest, ChunksTrainTheSameNetwork) {
  const auto loss_after = [&](const std::vector<std::string>& changes) {
    std::vector<std::string> all = {"model.bn=stats", "train.epochs=1",
                                    "eval.every=0"};
    all.insert(all.end(), changes.begin(), changes.end());
    make(all)->run();
    const double loss = loss_curve(folder_.file("log.jsonl")).back().second;
    std::filesystem::remove_all(folder_.file("log.jsonl"));
    return loss;
  };
  const double whole = loss_after({});
  EXPECT_NEAR(whole, loss_after({"train.sub_batch=5"}), 1e-4);
  EXPECT_EQ(loss_after({"train.sub_batch=5", "train.keep_graphs=none"}),
            loss_after({"train.sub_batch=5", "train.keep_graphs=all"}));
}

TEST_F(LargeBatchTest, OutOfMemoryHalvesTheChunksOnceAndSaysSo) {
  const LogCapture log;
  make({"loss={name: test_hungry}", "train.epochs=1", "eval.every=0"})->run();
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_NE(log.warnings()[0].find("from 16 to 8"), std::string::npos)
      << log.warnings()[0];
  EXPECT_EQ(loss_curve(folder_.file("log.jsonl")).size(), 3u);
}

// The attempt that failed is not counted by batch norm: everything is as if the
// run had been started with the smaller chunks.
TEST_F(LargeBatchTest, AFailedAttemptLeavesNothingBehind) {
  const auto weights_after = [&](const std::vector<std::string>& changes) {
    std::vector<std::string> all = {"model.bn=train", "train.epochs=1",
                                    "eval.every=0"};
    all.insert(all.end(), changes.begin(), changes.end());
    const auto trainer = make(all);
    trainer->run();
    NamedTensors copy;
    for (const auto& [name, tensor] : trainer->net().state()) {
      copy.emplace_back(name, tensor.detach().clone());
    }
    std::filesystem::remove_all(folder_.path());
    return copy;
  };
  const NamedTensors retried = weights_after({"loss={name: test_hungry}"});
  const NamedTensors straight = weights_after(
      {"loss={name: test_hungry, failures: 0}", "train.sub_batch=8"});
  ASSERT_EQ(retried.size(), straight.size());
  for (size_t i = 0; i < straight.size(); ++i) {
    EXPECT_TRUE(same_bits(retried[i].second, straight[i].second))
        << straight[i].first;
  }
}

TEST_F(LargeBatchTest, OutOfMemoryTwiceEndsTheRun) {
  const auto trainer = make({"loss={name: test_hungry, failures: 3}"});
  expect_error<RunError>([&] { trainer->run(); }, "out of memory", "step 1",
                         "train.sub_batch 8", "quarter");
}

TEST_F(LargeBatchTest, AllGraphsOrNothing) {
  const auto trainer =
      make({"loss={name: test_hungry}", "train.keep_graphs=all"});
  expect_error<RunError>([&] { trainer->run(); }, "out of memory",
                         "train.keep_graphs to auto");
}

TEST_F(LargeBatchTest, ParametersOfTheLossAreTrainedAndKept) {
  make({"loss={name: test_hungry, failures: 0}", "train.epochs=1",
        "eval.every=0"})
      ->run();
  const SafetensorsFile saved(folder_.file("checkpoints/last.safetensors"));
  ASSERT_NE(saved.find("loss.factor"), nullptr);
  ASSERT_NE(saved.find("optimizer.exp_avg.loss.factor"), nullptr);
  float factor = 1;
  saved.read_into(*saved.find("loss.factor"), &factor);
  EXPECT_LT(factor, 1.0f);
  // A model to embed with needs none of it.
  EXPECT_EQ(load_model(folder_.path(), c10::kCPU).net->dim(), 16);
}

TEST_F(LargeBatchTest, HeadEpochsLeaveTheBackboneAlone) {
  const auto trainer =
      make({"train.head_epochs=3", "train.stop_epoch=3", "eval.every=0"});
  const auto before = trainer->net().backbone().parameters()[0].clone();
  const auto head = trainer->net().named_parameters()["head.linear.weight"];
  const Tensor head_before = head.clone();
  trainer->run();
  EXPECT_TRUE(
      same_bits(before, trainer->net().backbone().parameters()[0].detach()));
  EXPECT_GT(max_difference(head_before, head), 0);
}

// A class that is in no batch has no gradient, and Adam would make full steps
// of its decay alone.
TEST_F(LargeBatchTest, WeightDecayLeavesWhatTheLossLearnsAlone) {
  const auto betas_after_a_step = [&](const std::string& more) {
    make({"loss={name: margin, beta_per_class: true" + more + "}",
          "sampler.batch=8", "optimizer.weight_decay=0.1", "train.steps=1",
          "eval.every=0"})
        ->run();
    const SafetensorsFile saved(folder_.file("checkpoints/last.safetensors"));
    std::vector<float> betas(6);
    saved.read_into(*saved.find("loss.beta"), betas.data());
    std::filesystem::remove_all(folder_.path());
    return std::count(betas.begin(), betas.end(), 1.2f);
  };
  EXPECT_EQ(betas_after_a_step(""), 4);  // two of six classes in the batch
  EXPECT_EQ(betas_after_a_step(", decay: true"), 0);
}

TEST_F(LargeBatchTest, StartsFromAnotherRun) {
  make({"train.epochs=1", "eval.every=0"})->run();
  const TempDir second;
  const RunConfig config =
      tiny_config({"train.init_from=" + folder_.path(), "train.seed=9"});
  const auto data = make_data_set(config.section("data"));
  const LogCapture log;
  Trainer next(config, *data, second.path(), c10::kCPU, silent_progress());
  next.evaluate_now();
  const LoadedModel model = load_model(folder_.path(), c10::kCPU);
  const NamedTensors a = model.net->state();
  const NamedTensors b = next.net().state();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
  }
  ASSERT_FALSE(log.notes().empty());
  EXPECT_NE(log.notes()[0].find("last.safetensors"), std::string::npos);
}

TEST_F(LargeBatchTest, SaysThatWeightsSawOtherPictures) {
  make({"train.epochs=1", "eval.every=0"})->run();
  const auto warnings = [&](const std::string& change) {
    const TempDir second;
    const RunConfig config = tiny_config(
        {"train.init_from=" + folder_.path(), change, "eval.every=0"});
    const auto data = make_data_set(config.section("data"));
    const LogCapture log;
    Trainer(config, *data, second.path(), c10::kCPU, silent_progress())
        .evaluate_now();
    return join(log.warnings());
  };
  EXPECT_EQ(warnings("train.seed=1"), "");
  const std::string said = warnings("model.input.mean=[0.2]");
  EXPECT_NE(said.find("another model.input.mean;"), std::string::npos) << said;
}

TEST_F(LargeBatchTest, ResumingNeedsNoWeightsToStartFrom) {
  make({"train.epochs=1", "eval.every=0"})->run();
  const TempDir second;
  const RunConfig config = tiny_config({"train.init_from=" + folder_.path(),
                                        "train.stop_epoch=1", "eval.every=0"});
  const auto data = make_data_set(config.section("data"));
  Trainer(config, *data, second.path(), c10::kCPU, silent_progress()).run();
  std::filesystem::remove_all(folder_.path());
  Trainer again(config, *data, second.path(), c10::kCPU, silent_progress());
  again.resume();
  EXPECT_EQ(again.run().parts.at(0).queries, 48);
}

TEST_F(LargeBatchTest, AHeadOfAnotherSizeIsToldOf) {
  make({"train.epochs=1", "eval.every=0"})->run();
  const TempDir second;
  const RunConfig config = tiny_config({"train.init_from=" + folder_.path(),
                                        "model.head.dim=8", "eval.every=0"});
  const auto data = make_data_set(config.section("data"));
  const LogCapture log;
  Trainer(config, *data, second.path(), c10::kCPU, silent_progress())
      .evaluate_now();
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_NE(log.warnings()[0].find("head.linear.weight"), std::string::npos)
      << log.warnings()[0];
}

TEST_F(LargeBatchTest, StopsEarlyWithTheSameSchedule) {
  make({"train.stop_epoch=2", "eval.every=0"})->run();
  const std::vector<double> stopped = learning_rates();
  EXPECT_EQ(stopped.size(), 6u);
  std::filesystem::remove_all(folder_.path());
  make({"eval.every=0"})->run();
  std::vector<double> whole = learning_rates();
  whole.resize(6);
  EXPECT_EQ(stopped, whole);
}

// As published code has it: epochs and milestones are counted without them.
TEST_F(LargeBatchTest, HeadEpochsComeBeforeTheOthersAndTheSchedule) {
  const LogCapture log;
  make({"train.head_epochs=1", "eval.every=0"})->run();
  std::vector<double> rates = learning_rates();
  ASSERT_EQ(rates.size(), 12u);
  EXPECT_EQ(std::count(rates.begin(), rates.begin() + 3, 0.003), 3);
  rates.erase(rates.begin(), rates.begin() + 3);
  ASSERT_FALSE(log.notes().empty());
  EXPECT_EQ(log.notes()[0],
            "epochs: 1 of the head and what the loss learns, then 3 of the "
            "whole network");
  std::filesystem::remove_all(folder_.path());
  make({"eval.every=0"})->run();
  EXPECT_EQ(learning_rates(), rates);
}

TEST_F(LargeBatchTest, TheCacheChangesNothing) {
  make({"eval.every=0"})->run();
  const std::string without = file("metrics.json");
  std::filesystem::remove_all(folder_.path());
  make({"eval.every=0", "train.cache_mb=1"})->run();
  EXPECT_EQ(without, file("metrics.json"));
}

TEST_F(LargeBatchTest, DryRunCountsAndWritesNothing) {
  const DryRun result = make({"train.sub_batch=8", "train.keep_graphs=none",
                              "model.bn=stats", "eval.every=2"})
                            ->dry_run();
  EXPECT_EQ(result.steps_an_epoch, 3);
  EXPECT_EQ(result.steps, 9);
  EXPECT_EQ(result.step.images, 16);
  EXPECT_EQ(result.chunks, 2);
  EXPECT_EQ(result.graphs_kept, 0);
  EXPECT_EQ(result.evaluations, 3);  // one of them before training
  EXPECT_EQ(result.eval_images, 48);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.step.phases.backward.peak_bytes, 1 << 20);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(LargeBatchTest, WarnsOfStatisticsOfChunks) {
  const LogCapture log;
  make({"train.sub_batch=8", "eval.every=0"});
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_NE(log.warnings()[0].find("model.bn"), std::string::npos);
}

}  // namespace
}  // namespace kith
