#include "kith/train/trainer.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/run/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using Json = nlohmann::json;

class TrainerTest : public ::testing::Test {
 protected:
  std::string text(const std::string& file) const {
    return read_file(folder_.file(file), 1 << 24);
  }

  /// Of the last checkpoint.
  int64_t steps_kept() const {
    const CheckpointInfo last =
        read_checkpoint_info(folder_.file("checkpoints/last.safetensors"));
    return Json::parse(last.progress).at("step");
  }

  EvalResult train(const RunConfig& config) {
    const auto data = make_data_set(config.section("data"));
    return Trainer(config, *data, folder_.path(), c10::kCPU, silent_progress())
        .run();
  }

  TempDir folder_;
};

TEST_F(TrainerTest, LearnsAndKeepsItsFolder) {
  const RunConfig config = tiny_config({"train.epochs=8", "eval.every=4"});
  const auto data = make_data_set(config.section("data"));
  Trainer trainer(config, *data, folder_.path(), c10::kCPU, silent_progress());
  const EvalResult result = trainer.run();
  EXPECT_EQ(trainer.steps_done(), 24);
  EXPECT_EQ(result.parts.at(0).queries, 48);

  const auto curve = loss_curve(folder_.file("log.jsonl"));
  ASSERT_EQ(curve.size(), 24u);
  const auto mean = [&](size_t begin) {
    double sum = 0;
    for (size_t i = begin; i < begin + 3; ++i) sum += curve[i].second;
    return sum / 3;
  };
  EXPECT_LT(mean(21), mean(0));

  EXPECT_EQ(text("config.yaml"), to_yaml(config.tree));
  const Json metrics = Json::parse(text("metrics.json"));
  EXPECT_EQ(metrics.at("split"), "test");
  EXPECT_EQ(metrics.at("history").size(), 3u);
  EXPECT_EQ(metrics.at("last").at("step"), 24);
  EXPECT_EQ(metrics.at("last").at("metrics").at("map_at_r"),
            result.at("map_at_r"));
  EXPECT_EQ(metrics.at("best").at("metric"), "recall_any@1");
  EXPECT_EQ(metrics.dump().find("seconds"), std::string::npos);

  // The checkpoint is the network that was evaluated.
  const LoadedModel model = load_model(folder_.path(), c10::kCPU);
  const auto kept = trainer.net().state();
  const auto loaded = model.net->state();
  ASSERT_EQ(kept.size(), loaded.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_TRUE(same_bits(kept[i].second, loaded[i].second)) << kept[i].first;
  }
}

TEST_F(TrainerTest, BestIsTheFirstOfTheHighestValues) {
  train(tiny_config());
  const Json metrics = Json::parse(text("metrics.json"));
  double highest = -1;
  int64_t epoch = 0;
  for (const Json& point : metrics.at("history")) {
    const double value = point.at("metrics").at("recall_any@1");
    if (value > highest) {
      highest = value;
      epoch = point.at("epoch");
    }
  }
  EXPECT_EQ(metrics.at("best").at("value"), highest);
  EXPECT_EQ(metrics.at("best").at("epoch"), epoch);
  EXPECT_TRUE(
      std::filesystem::exists(folder_.file("checkpoints/best.safetensors")));
}

TEST_F(TrainerTest, AnEvaluationBeforeTrainingChangesNothingElse) {
  const LogCapture log;
  train(tiny_config());
  const Json metrics = Json::parse(text("metrics.json"));
  ASSERT_EQ(metrics.at("history").size(), 4u);
  EXPECT_EQ(metrics.at("history").at(0).at("epoch"), 0);
  EXPECT_EQ(metrics.at("history").at(0).at("step"), 0);
  EXPECT_GT(metrics.at("best").at("epoch"), 0);
  EXPECT_EQ(metrics.at("last").at("step"), 9);
  EXPECT_EQ(log.notes().front().rfind(
                "before training: test split, protocol standard\n", 0),
            0u);

  const TempDir without;
  const RunConfig config = tiny_config({"eval.before=false"});
  const auto data = make_data_set(config.section("data"));
  Trainer(config, *data, without.path(), c10::kCPU, silent_progress()).run();
  const Json other =
      Json::parse(read_file(without.file("metrics.json"), 1 << 24));
  EXPECT_EQ(metrics.at("last"), other.at("last"));
  EXPECT_EQ(metrics.at("best"), other.at("best"));
}

TEST_F(TrainerTest, OneEvaluationAfterTrainingIsNoChoice) {
  train(tiny_config({"eval.every=0"}));
  const Json metrics = Json::parse(text("metrics.json"));
  EXPECT_EQ(metrics.at("history").size(), 2u);
  EXPECT_GT(metrics.at("best").at("epoch"), 0);
  EXPECT_EQ(metrics.at("best").at("chosen_on"), "nothing");
}

TEST_F(TrainerTest, TellsEachEvaluation) {
  const LogCapture log;
  train(tiny_config({"train.epochs=2"}));
  const std::vector<std::string> all = log.notes();
  ASSERT_EQ(all.size(), 4u);  // the last one: what it took
  EXPECT_EQ(all[0].rfind("before training: test split, ", 0), 0u) << all[0];
  EXPECT_EQ(all[0].find("change"), std::string::npos) << all[0];
  const std::vector<std::string> notes(all.begin() + 1, all.end());
  EXPECT_EQ(notes[0].rfind(
                "after epoch 1, step 3: test split, protocol standard\n", 0),
            0u)
      << notes[0];
  EXPECT_EQ(notes[1].rfind(
                "after epoch 2, step 6: test split, protocol standard\n", 0),
            0u)
      << notes[1];
  EXPECT_NE(notes[0].find("change"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("change"), std::string::npos) << notes[1];
  EXPECT_NE(notes[1].find("\n  recall_any@1 "), std::string::npos) << notes[1];
}

TEST_F(TrainerTest, TellsHowFastItIsAndWhatFollows) {
  struct Recorder final : public Progress {
    void start(const std::string& what, int64_t) override { name = what; }
    void advance(int64_t, const std::string& note) override {
      if (name.starts_with("epoch")) last_note = note;
    }
    void finish() override {}
    void set_pace(const Pace& pace) override { paces.push_back(pace); }
    std::string name;
    std::string last_note;
    std::vector<Pace> paces;
  } progress;
  const RunConfig config = tiny_config({"train.steps=7", "train.epochs=9"});
  const auto data = make_data_set(config.section("data"));
  Trainer(config, *data, folder_.path(), c10::kCPU, progress).run();
  ASSERT_EQ(progress.paces.size(), 3u);
  EXPECT_EQ(progress.paces[0].unit, "images");
  EXPECT_EQ(progress.paces[0].units, 16);
  EXPECT_EQ(progress.paces[0].after, 4);  // seven steps, three an epoch
  EXPECT_EQ(progress.paces[1].after, 1);
  EXPECT_EQ(progress.paces[2].after, 0);
  EXPECT_EQ(progress.last_note.rfind("mean loss ", 0), 0u)
      << progress.last_note;
  EXPECT_NE(progress.last_note.find("  lr "), std::string::npos);
}

TEST_F(TrainerTest, SameSeedSameRun) {
  train(tiny_config());
  // The number of loading threads and how far they run ahead do not matter.
  const auto run_again = [&](const std::vector<std::string>& changes) {
    const TempDir again;
    const RunConfig config = tiny_config(changes);
    const auto data = make_data_set(config.section("data"));
    Trainer trainer(config, *data, again.path(), c10::kCPU, silent_progress());
    trainer.run();
    return read_file(again.file("metrics.json"), 1 << 24);
  };
  EXPECT_EQ(run_again({"train.workers=1", "train.prefetch=0"}),
            text("metrics.json"));
  EXPECT_NE(run_again({"train.seed=1"}), text("metrics.json"));
}

TEST_F(TrainerTest, LogsEveryFewSteps) {
  train(tiny_config({"log.every=4", "train.epochs=2", "eval.every=0"}));
  std::vector<int64_t> steps;
  for (const auto& [step, loss] : loss_curve(folder_.file("log.jsonl"))) {
    steps.push_back(step);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{4}));
}

TEST_F(TrainerTest, TrainsOnMinedTuples) {
  train(tiny_config(
      {"loss={name: contrastive}", "miner={name: random}", "train.epochs=1"}));
  EXPECT_EQ(loss_curve(folder_.file("log.jsonl")).size(), 3u);
}

TEST_F(TrainerTest, BestIsTheSmallestOfADistanceWithinClasses) {
  train(tiny_config({"eval.metrics=[spectrum, intra]", "train.epochs=4"}));
  const Json metrics = Json::parse(text("metrics.json"));
  double lowest = 9;
  for (const Json& point : metrics.at("history")) {
    lowest = std::min(lowest, point.at("metrics").at("intra").get<double>());
  }
  EXPECT_EQ(metrics.at("best").at("metric"), "intra");
  EXPECT_EQ(metrics.at("best").at("value"), lowest);
}

TEST_F(TrainerTest, AnUndefinedValueIsNeverTheBest) {
  // No test image has another of its class: there is nothing to find.
  std::vector<Item> items = paired_items(32, Split::kTrain);
  for (int64_t i = 0; i < 4; ++i) {
    items.push_back(paired_items(1, Split::kTest).front());
    items.back().label = 1000 + i;
  }
  const MemorySet data(items);
  const RunConfig config =
      tiny_config({"train.epochs=1", "sampler={batch: 16, per_class: 2}"});
  const LogCapture log;
  Trainer trainer(config, data, folder_.path(), c10::kCPU, silent_progress());
  trainer.run();
  EXPECT_FALSE(trainer.best_trained());
  EXPECT_TRUE(Json::parse(text("metrics.json")).at("best").is_null());
  EXPECT_FALSE(
      std::filesystem::exists(folder_.file("checkpoints/best.safetensors")));
}

TEST_F(TrainerTest, AnEmbeddingThatIsNoNumberEndsTheRun) {
  // The only step leaves weights so large that the network overflows.
  const RunConfig broken = tiny_config(
      {"optimizer.lr=1e30", "schedule={name: constant}", "train.steps=1"});
  expect_error<RunError>([&] { train(broken); }, "its embedding", "step 1",
                         "optimizer.lr", "train.clip_norm");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("metrics.json")));
  EXPECT_EQ(steps_kept(), 0);
  EXPECT_NE(text("diverged.txt").find("its embedding"), std::string::npos);
  // The next try begins anew.
  train(tiny_config({"train.epochs=1"}));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("diverged.txt")));
}

TEST_F(TrainerTest, BrokenWeightsAreNotSaved) {
  const RunConfig config = tiny_config(
      {"optimizer={name: sgd, lr: 1e38, weight_decay: 1e5}",
       "schedule={name: constant}", "train.steps=1", "eval.split=none"});
  expect_error<RunError>([&] { train(config); }, "NaN or infinity in ",
                         "after step 1", "optimizer.lr", "train.clip_norm");
  EXPECT_FALSE(
      std::filesystem::exists(folder_.file("checkpoints/last.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("diverged.txt")));
}

TEST_F(TrainerTest, TheLastGoodCheckpointStays) {
  // The rate jumps after the first epoch's three steps.
  const RunConfig config =
      tiny_config({"optimizer={name: sgd, lr: 1e-9, weight_decay: 1e5}",
                   "schedule={name: step, milestones: [1], gamma: 1e47}",
                   "eval.split=none", "train.checkpoint_steps=1"});
  expect_error<RunError>([&] { train(config); }, "after step 4");
  const CheckpointInfo last =
      read_checkpoint_info(folder_.file("checkpoints/last.safetensors"));
  EXPECT_EQ(Json::parse(last.progress).at("step"), 3);
  EXPECT_NO_THROW(load_model(folder_.path(), c10::kCPU));
}

TEST_F(TrainerTest, StopsAtNanAndSaysWhere) {
  const RunConfig config =
      tiny_config({"optimizer.lr=1e36", "schedule={name: constant}"});
  expect_error<RunError>([&] { train(config); }, "step 2", "NaN or infinity",
                         "bad_batch.txt");
  std::istringstream lines(text("bad_batch.txt"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(line.rfind("images/", 0), 0u) << line;
  }
  EXPECT_EQ(count, 16);
  // Nothing of the bad step is kept.
  EXPECT_EQ(loss_curve(folder_.file("log.jsonl")).size(), 1u);
  EXPECT_EQ(steps_kept(), 0);
}

/// A miner meets the bad numbers before the loss does.
TEST_F(TrainerTest, StopsAtNanBeforeItIsMined) {
  const RunConfig config =
      tiny_config({"optimizer.lr=1e36", "schedule={name: constant}",
                   "loss={name: triplet}", "miner={name: distance_weighted}"});
  expect_error<RunError>([&] { train(config); }, "step 2",
                         "NaN or infinity in the embeddings", "bad_batch.txt");
}

TEST_F(TrainerTest, RefusesWhatCannotBeTrained) {
  const auto refused = [&](const RunConfig& config, const DataSet& data) {
    Trainer(config, data, folder_.path(), c10::kCPU, silent_progress()).run();
  };
  const MemorySet test_only(paired_items(8, Split::kTest));
  expect_error<DataError>([&] { refused(tiny_config(), test_only); },
                          "train split has no images");
  const MemorySet train_only(paired_items(32, Split::kTrain));
  const std::string pairs = "sampler={batch: 16, per_class: 2}";
  expect_error<DataError>([&] { refused(tiny_config({pairs}), train_only); },
                          "test split", "no queries");
  expect_error<ConfigError>(
      [&] {
        refused(tiny_config({pairs, "miner={name: random}"}), train_only);
      },
      "whole batch", "'miner'");
}

}  // namespace
}  // namespace kith
