// A run that was stopped at any moment and resumed must end with the same bytes
// as one that was not.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Six classes of eight to train on and, in the test split, six more; or test
/// classes of one, which leave every metric undefined.
MemorySet make_pictures(bool lone_test_images = false) {
  std::vector<Item> items(96);
  for (size_t i = 0; i < items.size(); ++i) {
    const bool test = i >= 48;
    items[i].split = test ? Split::kTest : Split::kTrain;
    items[i].label = static_cast<int64_t>(test && lone_test_images ? i : i / 8);
  }
  return MemorySet(items);
}

/// What a finished run leaves behind, without times.
struct Outcome {
  std::string metrics;
  std::string last;
  std::string best;
  std::vector<std::pair<int64_t, double>> losses;
  std::vector<std::pair<int64_t, int64_t>> evaluations;  ///< Epoch and step.

  bool operator==(const Outcome& other) const = default;
};

std::vector<std::pair<int64_t, int64_t>> logged_evaluations(
    const TempDir& folder) {
  std::vector<std::pair<int64_t, int64_t>> all;
  std::istringstream lines(read_file(folder.file("log.jsonl"), 1 << 24));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.at("kind") != "eval") continue;
    all.emplace_back(record.at("epoch"), record.at("step"));
  }
  return all;
}

Outcome outcome(const TempDir& folder) {
  const auto text = [&](const char* file) {
    return read_file(folder.file(file), 1 << 24);
  };
  // Where the metric is never defined there is no best.
  const char* best = "checkpoints/best.safetensors";
  return {text("metrics.json"), text("checkpoints/last.safetensors"),
          std::filesystem::exists(folder.file(best)) ? text(best) : "",
          loss_curve(folder.file("log.jsonl")), logged_evaluations(folder)};
}

/// Runs until the progress throws; whether it did.
bool run_interrupted(const RunConfig& config, const DataSet& data,
                     const TempDir& folder, int at) {
  InterruptingProgress progress(at);
  Trainer trainer(config, data, folder.path(), c10::kCPU, progress);
  trainer.resume();
  try {
    trainer.run();
  } catch (const Interrupted&) {
    return true;
  }
  return false;
}

/// A kill can cut off the line that is being written.
void damage_log(const TempDir& folder) {
  std::ofstream(folder.file("log.jsonl"), std::ios::app) << R"({"kind":"st)";
}

Outcome uninterrupted(const RunConfig& config, const DataSet& data) {
  const TempDir folder;
  EXPECT_FALSE(run_interrupted(config, data, folder, -1));
  return outcome(folder);
}

int calls_of_a_run(const RunConfig& config, const DataSet& data) {
  const TempDir folder;
  InterruptingProgress progress;
  Trainer(config, data, folder.path(), c10::kCPU, progress).run();
  return progress.calls();
}

/// A moment at which at least one epoch was kept and another is under way.
int amid(const RunConfig& config, const DataSet& data) {
  return 2 * calls_of_a_run(config, data) / 3;
}

class Resume : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Resume, AfterAStopAtAnyMoment) {
  const RunConfig config = tiny_config(GetParam());
  const MemorySet data = make_pictures();
  const Outcome expected = uninterrupted(config, data);
  ASSERT_EQ(expected.losses.size(), 9u);
  const int calls = calls_of_a_run(config, data);
  ASSERT_GT(calls, 15);
  for (int at = 0; at < calls; ++at) {
    const TempDir folder;
    ASSERT_TRUE(run_interrupted(config, data, folder, at));
    damage_log(folder);
    ASSERT_FALSE(run_interrupted(config, data, folder, -1));
    ASSERT_TRUE(outcome(folder) == expected) << "stopped at call " << at;
  }
}

TEST_P(Resume, AfterManyStops) {
  const RunConfig config = tiny_config(GetParam());
  const MemorySet data = make_pictures();
  const TempDir folder;
  int stops = 0;
  for (int at = 1; run_interrupted(config, data, folder, at); ++at) {
    damage_log(folder);
    ++stops;
  }
  EXPECT_GE(stops, 2);
  EXPECT_TRUE(outcome(folder) == uninterrupted(config, data));
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Resume,
    ::testing::Values(
        std::vector<std::string>{},
        std::vector<std::string>{"train.checkpoint_steps=1"},
        std::vector<std::string>{"eval.before=false"},
        std::vector<std::string>{"eval.every=2", "train.checkpoint_steps=2"},
        std::vector<std::string>{"train.checkpoint_steps=2", "loss.simix=true"},
        std::vector<std::string>{"train.checkpoint_steps=1", "model.bn=stats",
                                 "train.sub_batch=6", "train.keep_graphs=none",
                                 "train.head_epochs=1", "train.epochs=2",
                                 "train.cache_mb=1"},
        std::vector<std::string>{"train.checkpoint_steps=1", "train.memory=24",
                                 "train.memory_after=1"},
        std::vector<std::string>{"train.checkpoint_steps=1",
                                 "loss={name: proxy_anchor, lr: 0.01}"},
        std::vector<std::string>{
            "train.checkpoint_steps=2",
            "sampler={name: greedy_coreset, batch: 16, per_class: 2}"},
        std::vector<std::string>{"train.checkpoint_steps=1", "train.mixup=2",
                                 "train.sub_batch=6"},
        std::vector<std::string>{"train.checkpoint_steps=1",
                                 "train.cached_features=3", "train.sub_batch=6",
                                 "loss.simix=true"},
        std::vector<std::string>{"train.checkpoint_steps=2", "train.epochs=5",
                                 "train.steps=9", "model.head.init=whitening",
                                 "model.head.l2_before=true",
                                 "model.head.dim=8"},
        std::vector<std::string>{"train.checkpoint_steps=2", "train.ema=0.9",
                                 "model.bn=train", "eval.every=2"},
        std::vector<std::string>{"train.checkpoint_steps=1", "train.ema=0.5",
                                 "train.ema_warmup=false",
                                 "model.lora={rank: 2}", "train.sub_batch=6"},
        std::vector<std::string>{
            "train.checkpoint_steps=2", "optimizer.layer_decay=0.7",
            "optimizer.backbone_warmup=1.5", "optimizer.head_warmup=0.5",
            "loss={name: cosface, scale: 8, label_smoothing: 0.1}"},
        std::vector<std::string>{
            "train.checkpoint_steps=1", "loss={name: proxy_anchor, lr: 0.01}",
            "model.head.nested=[2, 6]", "model.head.nested_weights=[1, 2, 1]"},
        std::vector<std::string>{"train.checkpoint_steps=1",
                                 "model.head.nested=[4]", "train.memory=24",
                                 "train.sub_batch=6", "eval.dim=4"},
        std::vector<std::string>{"train.checkpoint_steps=1",
                                 "train.freeze=[backbone.block1_*]",
                                 "train.head_epochs=1", "train.epochs=2"},
        std::vector<std::string>{
            "train.checkpoint_steps=2", "loss={name: contrastive}",
            "miner={name: random}", "optimizer={name: sgd, lr: 0.01}"}));

TEST(ResumedRun, CanBeResumedAfterItsEnd) {
  const RunConfig config = tiny_config({});
  const MemorySet data = make_pictures();
  const TempDir folder;
  run_interrupted(config, data, folder, -1);
  const Outcome before = outcome(folder);
  std::filesystem::remove(folder.file("metrics.json"));
  Trainer trainer(config, data, folder.path(), c10::kCPU, silent_progress());
  trainer.resume();
  EXPECT_EQ(trainer.steps_done(), 9);
  EXPECT_EQ(trainer.run().parts.at(0).queries, 48);
  EXPECT_TRUE(outcome(folder) == before);
}

TEST(ResumedRun, StartsAnewWithAnotherConfigurationUntilAStepIsKept) {
  const MemorySet data = make_pictures();
  const RunConfig config = tiny_config({"optimizer.lr=0.002"});
  const Outcome expected = uninterrupted(config, data);
  const TempDir folder;
  ASSERT_TRUE(
      run_interrupted(tiny_config({"loss={name: margin}"}), data, folder, 5));
  const LogCapture log;
  ASSERT_FALSE(run_interrupted(config, data, folder, -1));
  EXPECT_THAT(log.notes(), Contains(HasSubstr("no step was taken yet")));
  EXPECT_EQ(outcome(folder).metrics, expected.metrics);
  EXPECT_EQ(logged_evaluations(folder),
            (std::vector<std::pair<int64_t, int64_t>>{
                {0, 0}, {1, 3}, {2, 6}, {3, 9}}));
}

TEST(ResumedRun, DoesNotEvaluateTheUntrainedNetworkAgain) {
  const RunConfig config = tiny_config({});
  const MemorySet data = make_pictures();
  const TempDir folder;
  // Within the first epoch: before any checkpoint of a step.
  const LogCapture log;
  ASSERT_TRUE(run_interrupted(config, data, folder, 5));
  ASSERT_FALSE(run_interrupted(config, data, folder, -1));
  int64_t before = 0;
  for (const std::string& note : log.notes()) {
    before += note.starts_with("before training") ? 1 : 0;
  }
  EXPECT_EQ(before, 1);
  EXPECT_EQ(logged_evaluations(folder),
            (std::vector<std::pair<int64_t, int64_t>>{
                {0, 0}, {1, 3}, {2, 6}, {3, 9}}));
}

TEST(ResumedRun, WithMetricsThatAreNotDefined) {
  const RunConfig config = tiny_config({});
  const MemorySet data = make_pictures(/*lone_test_images=*/true);
  const Outcome expected = uninterrupted(config, data);
  EXPECT_NE(expected.metrics.find("null"), std::string::npos);
  const TempDir folder;
  ASSERT_TRUE(run_interrupted(config, data, folder, amid(config, data)));
  ASSERT_FALSE(run_interrupted(config, data, folder, -1));
  EXPECT_EQ(outcome(folder).metrics, expected.metrics);
}

/// A run that was stopped when it had two checkpoints.
class StoppedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(run_interrupted(config_, data_, folder_, amid(config_, data_)));
  }

  void resume() const { run_interrupted(config_, data_, folder_, -1); }

  const RunConfig config_ = tiny_config({"train.checkpoint_steps=1"});
  const MemorySet data_ = make_pictures();
  const TempDir folder_;
  const std::string last_ = folder_.file("checkpoints/last.safetensors");
  const std::string previous_ =
      folder_.file("checkpoints/last.previous.safetensors");
};

TEST_F(StoppedRun, GoesOnFromTheCheckpointBeforeADamagedOne) {
  std::string bytes = read_file(last_, 1 << 24);
  EXPECT_NE(read_file(previous_, 1 << 24), bytes);
  bytes[bytes.size() / 2] ^= 8;
  write_file_atomically(last_, bytes);
  expect_error<DataError>([&] { resume(); }, last_, "damaged",
                          "to the same numbers",
                          "mv " + previous_ + " " + last_, "resume again");
  std::filesystem::rename(previous_, last_);
  resume();
  EXPECT_TRUE(outcome(folder_) == uninterrupted(config_, data_));
}

TEST_F(StoppedRun, DoesNotBeginAnewWhereACheckpointIsMissing) {
  std::filesystem::remove(last_);
  expect_error<DataError>([&] { resume(); }, last_, "is missing",
                          "mv " + previous_);
  write_file_atomically(previous_, "no checkpoint");
  expect_error<DataError>([&] { resume(); }, last_, "is missing",
                          "no whole one", "another folder");
}

TEST(ResumedRun, RefusesAChangedConfigurationAndNamesTheKey) {
  const RunConfig config = tiny_config({});
  const MemorySet data = make_pictures();
  const TempDir folder;
  ASSERT_TRUE(run_interrupted(config, data, folder, amid(config, data)));
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"loss.t2=0.02", "'loss.t2'"},
      {"train.seed=1", "'train.seed'"},
      {"model.head.dim=8", "'model.head.dim'"},
      {"augment=[]", "'augment'"},
      {"loss={name: contrastive}", "'loss.name'"}};
  for (const auto& [change, key] : changes) {
    const RunConfig changed = tiny_config({change});
    expect_error<ConfigError>(
        [&] { run_interrupted(changed, data, folder, -1); }, key, "differs");
  }
}

TEST(ResumedRun, MayChangeHowTheWorkIsDone) {
  const RunConfig config = tiny_config({});
  const MemorySet data = make_pictures();
  const TempDir folder;
  ASSERT_TRUE(run_interrupted(config, data, folder, amid(config, data)));
  const RunConfig other = tiny_config({"train.workers=1", "train.prefetch=0",
                                       "train.checkpoint_steps=1",
                                       "log.every=2", "log.examples=0"});
  ASSERT_FALSE(run_interrupted(other, data, folder, -1));
  EXPECT_EQ(outcome(folder).metrics, uninterrupted(config, data).metrics);
}

}  // namespace
}  // namespace kith
