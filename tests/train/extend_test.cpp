// Runs that are asked to stop, and runs that go on for longer.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/run/run_changes.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"
#include "kith/run/run_metrics.h"
#include "kith/train/schedules.h"
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

/// Six classes of eight to train on and six more to test on.
MemorySet pictures_to_extend() {
  std::vector<Item> items(96);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = i >= 48 ? Split::kTest : Split::kTrain;
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

/// Asks for a stop at the call with this number (from 0).
class AskingProgress final : public Progress {
 public:
  explicit AskingProgress(int at) : at_(at) {}

  void start(const std::string&, int64_t) override { count(); }
  void advance(int64_t, const std::string&) override { count(); }
  void finish() override { count(); }

  StopRequest stop() const { return &stop_; }
  bool asked() const { return stop_; }

 private:
  void count() {
    if (calls_++ == at_) stop_ = true;
  }

  int at_;
  int calls_ = 0;
  std::atomic<bool> stop_{false};
};

class GoingOn : public ::testing::Test {
 protected:
  /// Whether the run was stopped, at the call of the progress with this number.
  bool stops(const RunConfig& config, const TempDir& folder, int at,
             const ResumeOptions& options = {}) const {
    AskingProgress progress(at);
    Trainer trainer(config, data_, folder.path(), c10::kCPU, progress);
    trainer.resume(options);
    try {
      trainer.run(progress.stop());
    } catch (const RunStopped& stopped) {
      EXPECT_TRUE(progress.asked());
      EXPECT_EQ(stopped.step(), trainer.steps_done());
      EXPECT_FALSE(RunFolder(folder.path()).is_finished());
      return true;
    }
    return false;
  }

  void go_on(const RunConfig& config, const TempDir& folder,
             const ResumeOptions& options = {}) const {
    ASSERT_FALSE(stops(config, folder, -1, options));
  }

  static std::string metrics(const TempDir& folder) {
    return read_file(folder.file("metrics.json"), 1 << 24);
  }
  static std::string last(const TempDir& folder) {
    return read_file(folder.file("checkpoints/last.safetensors"), 1 << 24);
  }
  static std::vector<std::pair<int64_t, double>> losses(const TempDir& folder) {
    return loss_curve(folder.file("log.jsonl"));
  }
  static std::vector<RunChange> changes(const TempDir& folder) {
    return read_run_changes(RunFolder(folder.path()).changes());
  }
  static size_t lines(const TempDir& folder) {
    const std::string text = read_file(folder.file("log.jsonl"), 1 << 24);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  const MemorySet data_ = pictures_to_extend();
};

TEST_F(GoingOn, AfterAStopAskedForAtAnyMoment) {
  for (const std::vector<std::string>& changed :
       {std::vector<std::string>{"eval.before=true"},
        std::vector<std::string>{
            "train.steps=8", "eval.every=2",
            "sampler={name: greedy_coreset, batch: 16, per_class: 2}"}}) {
    const RunConfig config = tiny_config(changed);
    const TempDir whole;
    go_on(config, whole);
    int stopped = 0;
    bool was_asked = true;
    for (int at = 0; was_asked; ++at) {
      const TempDir folder;
      was_asked = stops(config, folder, at);
      if (!was_asked) break;
      ++stopped;
      go_on(config, folder);
      ASSERT_EQ(metrics(folder), metrics(whole)) << "asked at call " << at;
      ASSERT_EQ(last(folder), last(whole)) << "asked at call " << at;
      ASSERT_EQ(losses(folder), losses(whole)) << "asked at call " << at;
      ASSERT_EQ(lines(folder), lines(whole)) << "asked at call " << at;
    }
    EXPECT_GT(stopped, 12);
  }
}

TEST_F(GoingOn, AnEvaluationThatWasNotMadeIsMadeOnce) {
  const RunConfig config = tiny_config({"eval.before=false"});
  const TempDir whole;
  go_on(config, whole);
  const TempDir folder;
  // With the third step, the last of the first epoch.
  ASSERT_TRUE(stops(config, folder, 3));
  EXPECT_EQ(lines(folder), 3u);
  // Killed after the evaluation is logged, before a checkpoint has it.
  InterruptingProgress progress(4);
  Trainer trainer(config, data_, folder.path(), c10::kCPU, progress);
  trainer.resume();
  EXPECT_THROW(trainer.run(), Interrupted);
  go_on(config, folder);
  EXPECT_EQ(lines(folder), lines(whole));
  EXPECT_EQ(metrics(folder), metrics(whole));
}

TEST_F(GoingOn, ARunThatIsExtendedIsLikeALongerOne) {
  const std::string schedule = "schedule={name: constant, warmup_epochs: 0.5}";
  const TempDir whole;
  go_on(tiny_config({schedule, "train.epochs=5"}), whole);
  const TempDir folder;
  go_on(tiny_config({schedule}), folder);
  go_on(tiny_config({schedule, "train.epochs=4"}), folder);
  go_on(tiny_config({schedule, "train.epochs=5"}), folder);
  EXPECT_EQ(metrics(folder), metrics(whole));
  EXPECT_EQ(losses(folder), losses(whole));
  ASSERT_EQ(changes(folder).size(), 2u);
  EXPECT_EQ(changes(folder)[1].epoch, 4);
  EXPECT_EQ(changes(folder)[1].step, 12);
  EXPECT_EQ(changes(folder)[1].key, "train.epochs");
  EXPECT_EQ(changes(folder)[1].before, "4");
  EXPECT_EQ(changes(folder)[1].after, "5");
  EXPECT_FALSE(std::filesystem::exists(whole.file("changes.json")));
}

TEST_F(GoingOn, MoreStepsOfTheSameSchedule) {
  const TempDir whole;
  go_on(tiny_config({"train.steps=8", "eval.every=0"}), whole);
  const TempDir folder;
  go_on(tiny_config({"train.steps=4", "eval.every=0"}), folder);
  go_on(tiny_config({"train.steps=8", "eval.every=0"}), folder);
  EXPECT_EQ(losses(folder), losses(whole));
}

TEST_F(GoingOn, ExtendedWithACosineItResumesToTheSameBytes) {
  const RunConfig longer =
      tiny_config({"schedule={name: cosine}", "train.epochs=5"});
  const RunConfig shorter = tiny_config({"schedule={name: cosine}"});
  const TempDir whole;
  go_on(shorter, whole);
  const LogCapture log;
  go_on(longer, whole);
  EXPECT_THAT(log.notes(), Contains(HasSubstr("the schedule goes on over 5 "
                                              "epochs from epoch 4 on")));
  int stopped = 0;
  for (int at = 0;; ++at) {
    const TempDir folder;
    go_on(shorter, folder);
    if (!stops(longer, folder, at)) break;
    ++stopped;
    go_on(longer, folder);
    ASSERT_EQ(metrics(folder), metrics(whole)) << "asked at call " << at;
    ASSERT_EQ(last(folder), last(whole)) << "asked at call " << at;
  }
  EXPECT_GT(stopped, 6);
}

TEST_F(GoingOn, AScheduleChangesItsLengthWithAnEpoch) {
  const RunConfig longer =
      tiny_config({"schedule={name: cosine}", "train.epochs=5"});
  std::vector<std::vector<std::pair<int64_t, double>>> curves;
  // After the first and the second step of the second epoch.
  for (const int64_t steps : {4, 5}) {
    const TempDir folder;
    int at = 0;
    const RunConfig shorter = tiny_config({"schedule={name: cosine}"});
    while (true) {
      const TempDir attempt;
      ASSERT_TRUE(stops(shorter, attempt, at));
      if (read_run_log(attempt.file("log.jsonl")).steps.size() ==
          static_cast<size_t>(steps)) {
        break;
      }
      ++at;
    }
    ASSERT_TRUE(stops(shorter, folder, at));
    go_on(longer, folder);
    EXPECT_EQ(changes(folder).at(0).step, steps);
    curves.push_back(losses(folder));
    const RunLogFile log = read_run_log(folder.file("log.jsonl"));
    const double base = log.steps.at(0).lr;
    const CosineSchedule cosine;
    EXPECT_DOUBLE_EQ(log.steps.at(5).lr, base * cosine.factor(5 / 3.0, 3));
    EXPECT_DOUBLE_EQ(log.steps.at(6).lr, base * cosine.factor(2, 5));
  }
  EXPECT_EQ(curves[0], curves[1]);
}

TEST_F(GoingOn, WithAnotherMetricTheBestIsChosenAnew) {
  const TempDir folder;
  go_on(tiny_config({}), folder);
  go_on(tiny_config({"train.epochs=4", "eval.best=map_at_r",
                     "eval.metrics=[recall_any@1, map_at_r]"}),
        folder);
  const RunMetrics found = read_run_metrics(folder.file("metrics.json"));
  EXPECT_EQ(found.best.value().metric, "map_at_r");
  EXPECT_EQ(found.best.value().epoch, 4);
}

TEST_F(GoingOn, RefusesWhatChangesTheMeaningOfARun) {
  const TempDir folder;
  go_on(tiny_config({}), folder);
  const auto expect_refusal = [&](const std::string& change,
                                  const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      expect_error<ConfigError>(
          [&] {
            stops(tiny_config({"train.epochs=4", change}), folder, -1);
          },
          part);
    }
  };
  expect_refusal("loss.t2=0.02",
                 {"'loss.t2' differs", "train.init_from: " + folder.path()});
  expect_refusal("optimizer.lr=0.02", {"'optimizer.lr'", "option 'allow_lr'"});
  expect_refusal("eval.split=train", {"'eval.split'", "kith eval"});
  expect_error<ConfigError>(
      [&] { stops(tiny_config({"train.epochs=2"}), folder, -1); },
      "'train.epochs' is 2", "already done 3 epochs, 9 steps");
  EXPECT_TRUE(changes(folder).empty());
  go_on(tiny_config({"train.epochs=4", "optimizer.lr=0.02"}), folder,
        {.new_lr = true});
  EXPECT_EQ(changes(folder).size(), 2u);
}

TEST_F(GoingOn, WithOptionsThatCameSinceAsTheirDefaults) {
  RunConfig old = tiny_config({});
  std::erase_if(old.tree.find("train")->entries,
                [](const auto& entry) { return entry.first == "mixup"; });
  const TempDir folder;
  go_on(old, folder);
  go_on(tiny_config({"train.epochs=4"}), folder);
  ASSERT_EQ(changes(folder).size(), 1u);
  EXPECT_EQ(changes(folder)[0].key, "train.epochs");
}

TEST_F(GoingOn, WhatIsFinishedStaysAsItIs) {
  const TempDir folder;
  go_on(tiny_config({}), folder);
  const std::string before = metrics(folder);
  const LogCapture log;
  go_on(tiny_config({"eval.batch=7"}), folder);
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("the run is finished: 3 epochs, 9 steps")));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("eval.batch stays")));
  EXPECT_EQ(metrics(folder), before);
  EXPECT_TRUE(changes(folder).empty());
}

}  // namespace
}  // namespace kith
