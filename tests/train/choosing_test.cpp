// Which network of a run is the best, when a run has seen enough, which epochs
// are kept, and that the test split has no part in it.

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/run/checkpoint.h"
#include "kith/run/choose_checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"
#include "kith/run/run_metrics.h"
#include "kith/train/experiment.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// Six classes of eight to train on, and as many to validate and to test on.
MemorySet pictures_of(const std::vector<Split>& splits) {
  std::vector<Item> items(48 * splits.size());
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = splits[i / 48];
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

/// A run whose network stays as it is: no epoch is better than another.
RunConfig still_config(std::vector<std::string> changes) {
  changes.insert(changes.begin(), {"optimizer.lr=1e-30", "model.bn=all",
                                   "schedule={name: constant}"});
  return tiny_config(changes);
}

/// Asks for a stop at the call with this number (from 0).
class StoppingProgress final : public Progress {
 public:
  explicit StoppingProgress(int at) : at_(at) {}
  void start(const std::string&, int64_t) override { count(); }
  void advance(int64_t, const std::string&) override { count(); }
  void finish() override { count(); }
  StopRequest stop() const { return &stop_; }

 private:
  void count() {
    if (calls_++ == at_) stop_ = true;
  }
  int at_;
  int calls_ = 0;
  std::atomic<bool> stop_{false};
};

class Choosing : public ::testing::Test {
 protected:
  /// Whether the run was stopped at the call of the progress with this number.
  bool stops(const RunConfig& config, const TempDir& folder,
             int at = -1) const {
    StoppingProgress progress(at);
    Trainer trainer(config, *data_, folder.path(), c10::kCPU, progress);
    trainer.resume();
    try {
      trainer.run(progress.stop());
    } catch (const RunStopped&) {
      return true;
    }
    return false;
  }
  void train(const RunConfig& config) const {
    ASSERT_FALSE(stops(config, folder_));
  }
  RunMetrics found() const {
    return read_run_metrics(RunFolder(folder_.path()).metrics());
  }
  static std::string text(const TempDir& folder, const std::string& name) {
    return read_file(folder.file(name), 1 << 24);
  }

  MemorySet both_ = pictures_of({Split::kTrain, Split::kTest});
  MemorySet three_ =
      pictures_of({Split::kTrain, Split::kValidation, Split::kTest});
  const MemorySet* data_ = &both_;
  TempDir folder_;
};

TEST_F(Choosing, PatienceEndsARunThatDoesNotBecomeBetter) {
  const LogCapture log;
  train(still_config({"train.epochs=6", "train.patience=2"}));
  EXPECT_EQ(found().history.size(), 4u);
  EXPECT_EQ(found().history.back().epoch, 3);
  EXPECT_EQ(found().ended_by, "train.patience");
  EXPECT_EQ(found().chosen_on, "test");
  EXPECT_THAT(log.notes(),
              Contains(AllOf(HasSubstr("ended after epoch 3: recall_any@1 has "
                                       "not been better than "),
                             HasSubstr("(epoch 1) for 2 epochs"))));
}

TEST_F(Choosing, PatienceCountsEpochsNotEvaluations) {
  train(still_config({"train.epochs=9", "train.patience=3", "eval.every=2"}));
  EXPECT_EQ(found().history[1].epoch, 2);
  EXPECT_EQ(found().history.back().epoch, 6);  // after 4 epochs, the next look
}

TEST_F(Choosing, ARunThatPatienceEndedSaysHowToGoOn) {
  train(still_config({"train.epochs=6", "train.patience=2"}));
  const LogCapture log;
  train(still_config({"train.epochs=6", "train.patience=2"}));
  EXPECT_THAT(log.notes(),
              Contains(AllOf(HasSubstr("the run is finished: 3 epochs"),
                             HasSubstr("resumed with a larger train.patience, "
                                       "or with 0 for none, it goes on"))));
  for (const char* change : {"train.epochs=9", "train.patience=1"}) {
    expect_error<ConfigError>(
        [&] {
          stops(still_config({"train.epochs=6", "train.patience=2", change}),
                folder_);
        },
        "but the run has ended", "a larger 'train.patience', or 0");
  }
  train(still_config({"train.epochs=6", "train.patience=3"}));
  EXPECT_EQ(found().history.back().epoch, 4);
  train(still_config({"train.epochs=6", "train.patience=0"}));
  EXPECT_EQ(found().history.back().epoch, 6);
  EXPECT_EQ(found().ended_by, "train.epochs");
  const TempDir whole;
  stops(still_config({"train.epochs=6"}), whole);
  EXPECT_EQ(text(folder_, "metrics.json"), text(whole, "metrics.json"));
}

TEST_F(Choosing, PatienceThatCannotWorkIsTold) {
  expect_error<ConfigError>(
      [] {
        tiny_config({"train.patience=2", "eval.every=0"});
      },
      "'train.patience'", "set 'eval.every'");
  expect_error<ConfigError>(
      [] {
        tiny_config({"train.patience=2", "eval.split=none"});
      },
      "'eval.split' to auto");
  const LogCapture log;
  train(tiny_config({"train.patience=3"}));
  EXPECT_THAT(log.notes(), Contains(HasSubstr("train.patience is 3, so it does "
                                              "not end a run of 3 epochs")));
  EXPECT_EQ(found().ended_by, "train.epochs");
  // Of a run that is finished nothing changes.
  train(tiny_config({"train.patience=1"}));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("train.patience stays 3")));
}

TEST_F(Choosing, TheNetworkBeforeTrainingCanBeTheBest) {
  const LogCapture log;
  train(still_config({"train.patience=2"}));
  EXPECT_EQ(found().best.value().epoch, 0);
  EXPECT_EQ(found().history.back().epoch, 3);
  EXPECT_EQ(found().chosen_on, "test");
  EXPECT_THAT(log.warnings(),
              Contains(HasSubstr("no epoch is better than the network before "
                                 "training, recall_any@1 ")));
  const ChosenCheckpoint chosen = choose_checkpoint(folder_.path(), "0");
  EXPECT_EQ(chosen.text(), "best checkpoint (epoch 0, before training)");
  EXPECT_NO_THROW(load_model(chosen.file, c10::kCPU));
}

TEST_F(Choosing, ATrainedEpochIsTakenFromASelection) {
  const RunConfig config = still_config({"train.validation=0.5"});
  const LogCapture log;
  train_experiment(config, folder_.path(), c10::kCPU, /*resume=*/false,
                   silent_progress());
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("chosen on held-out classes: epoch 1 ")));
  EXPECT_EQ(found().chosen_on, "validation");
  EXPECT_EQ(found().history.size(), 2u);
  EXPECT_EQ(found().best.value().epoch,
            1);  // not 0, which the test would choose
  EXPECT_EQ(found().split, "test");
  EXPECT_FALSE(found().test);
  const RunMetrics selection =
      read_run_metrics(RunFolder(folder_.path()).selection().metrics());
  EXPECT_EQ(selection.best.value().epoch, 0);
  EXPECT_FALSE(selection.test);  // it has no part in the choice
}

TEST_F(Choosing, KeepsEpochs) {
  train(tiny_config({"train.epochs=5", "train.keep_every=2"}));
  const RunFolder run(folder_.path());
  EXPECT_EQ(run.kept_epochs(), (std::vector<int64_t>{2, 4}));
  const ChosenCheckpoint fourth = choose_checkpoint(folder_.path(), "4");
  EXPECT_EQ(fourth.text(), "checkpoint of epoch 4");
  EXPECT_EQ(fourth.step, 12);
  EXPECT_EQ(choose_checkpoint(folder_.path(), "5").name, "last");
  expect_error<DataError>([&] { choose_checkpoint(folder_.path(), "1"); },
                          "the weights of epoch 1 were not kept",
                          "last (epoch 5)", ", 2, 4. ", "'train.keep_every'");
  // They are what the run had then.
  const TempDir shorter;
  stops(tiny_config({"train.epochs=5", "train.stop_epoch=4"}), shorter);
  const LoadedModel kept = load_model(fourth.file, c10::kCPU);
  const LoadedModel then = load_model(shorter.path(), c10::kCPU);
  const NamedTensors a = kept.net->state(), b = then.net->state();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(torch::equal(a[i].second, b[i].second)) << a[i].first;
  }
}

TEST_F(Choosing, TheBestIsTestedOnceIfValidationChose) {
  data_ = &three_;
  const LogCapture log;
  const RunConfig config = tiny_config({"train.epochs=4"});
  Trainer trainer(config, *data_, folder_.path(), c10::kCPU, silent_progress());
  trainer.run();
  const RunMetrics metrics = found();
  EXPECT_EQ(metrics.split, "validation");
  EXPECT_EQ(metrics.chosen_on, "validation");
  ASSERT_TRUE(metrics.test);
  EXPECT_EQ(metrics.test->epoch, metrics.best.value().epoch);
  EXPECT_EQ(metrics.test->after, 12);
  EXPECT_THAT(log.warnings(), Not(Contains(HasSubstr("the test split"))));
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("after epoch 4, step 12: validation split, "
                                 "protocol standard")));
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("the best checkpoint (epoch " +
                                 std::to_string(metrics.test->epoch) +
                                 "): test split, protocol standard")));
  // It is the best network on the test split.
  const LoadedModel best =
      load_model(RunFolder(folder_.path()).checkpoint("best"), c10::kCPU);
  const EvalResult expected = Evaluator(
      *data_, {.split = "test", .metrics = {"recall_any@1"}})(*best.net);
  EXPECT_EQ(metrics.test->found.at("recall_any@1"),
            expected.at("recall_any@1"));
  const RunLogFile lines = read_run_log(folder_.file("log.jsonl"));
  EXPECT_EQ(lines.split, "validation");
  EXPECT_EQ(lines.test.value().found.at("recall_any@1"),
            expected.at("recall_any@1"));
  EXPECT_EQ(lines.evals.size(), 5u);
  // And the trainer has the last one again.
  const LoadedModel last = load_model(folder_.path(), c10::kCPU);
  const NamedTensors a = last.net->state(), b = trainer.net().state();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(torch::equal(a[i].second, b[i].second)) << a[i].first;
  }
}

TEST_F(Choosing, TheTestSplitIsLeftAloneWhereItIsNotWanted) {
  data_ = &three_;
  train(tiny_config({"eval.split=validation"}));
  EXPECT_FALSE(found().test);
  data_ = &both_;
  const TempDir other;
  stops(tiny_config(), other);
  EXPECT_FALSE(read_run_metrics(other.file("metrics.json")).test);
}

TEST_F(Choosing, TakingTheNetworkBeforeTrainingIsAChoice) {
  train(still_config({"eval.every=0"}));
  EXPECT_EQ(found().best.value().epoch, 0);
  EXPECT_EQ(found().chosen_on, "test");
}

TEST_F(Choosing, TheNetworkOfAFoldIsTrained) {
  MemorySet data = pictures_of({Split::kTrain, Split::kTest});
  data.hold_out_fold(2, 1);
  data_ = &data;
  train(still_config({"train.folds=2"}));
  EXPECT_EQ(found().history.front().epoch, 0);
  EXPECT_EQ(found().best.value().epoch, 1);
}

TEST_F(Choosing, AfterAStopAskedForAtAnyMoment) {
  data_ = &three_;
  const RunConfig config = still_config({"train.epochs=6", "train.patience=2",
                                         "train.keep_every=3", "eval.every=2"});
  const TempDir whole;
  ASSERT_FALSE(stops(config, whole));
  int stopped = 0;
  for (int at = 0;; ++at) {
    const TempDir folder;
    if (!stops(config, folder, at)) break;
    ++stopped;
    ASSERT_FALSE(stops(config, folder));
    for (const char* name : {"metrics.json", "checkpoints/last.safetensors",
                             "checkpoints/best.safetensors"}) {
      ASSERT_EQ(text(folder, name), text(whole, name)) << name << " at " << at;
    }
    const auto log = [](const TempDir& of) {
      return read_run_log(of.file("log.jsonl"));
    };
    ASSERT_EQ(log(folder).evals.size(), log(whole).evals.size()) << at;
    ASSERT_EQ(log(folder).test.value().after, log(whole).test.value().after);
  }
  EXPECT_GT(stopped, 8);
  EXPECT_EQ(read_run_metrics(whole.file("metrics.json")).ended_by,
            "train.patience");
}

TEST_F(Choosing, AfterAKillAtAnyMoment) {
  const RunConfig config = still_config(
      {"train.epochs=4", "train.patience=2", "train.keep_every=1"});
  const TempDir whole;
  data_ = &three_;
  ASSERT_FALSE(stops(config, whole));
  bool was_killed = true;
  int kills = 0;
  for (int at = 1; was_killed; at += 3) {
    const TempDir folder;
    was_killed = false;
    try {
      InterruptingProgress progress(at);
      Trainer(config, *data_, folder.path(), c10::kCPU, progress).run();
    } catch (const Interrupted&) {
      was_killed = true;
    }
    if (!was_killed) break;
    ++kills;
    ASSERT_FALSE(stops(config, folder));
    for (const char* name :
         {"metrics.json", "checkpoints/last.safetensors",
          "checkpoints/best.safetensors", "checkpoints/epoch-2.safetensors"}) {
      ASSERT_EQ(text(folder, name), text(whole, name)) << name << " at " << at;
    }
  }
  EXPECT_GT(kills, 5);
}

TEST_F(Choosing, AKeptEpochIsThereThoughTheRunWasStoppedAtItsEnd) {
  const RunConfig config =
      tiny_config({"train.epochs=4", "train.keep_every=2", "eval.every=0"});
  const TempDir whole;
  ASSERT_FALSE(stops(config, whole));
  for (int at = 0;; ++at) {
    const TempDir folder;
    if (!stops(config, folder, at)) break;
    ASSERT_FALSE(stops(config, folder));
    for (const char* name : {"checkpoints/epoch-2.safetensors",
                             "checkpoints/epoch-4.safetensors"}) {
      ASSERT_EQ(text(folder, name), text(whole, name)) << name << " at " << at;
    }
  }
}

TEST_F(Choosing, ABestThatIsGoneIsToldAtTheEnd) {
  data_ = &three_;
  const RunConfig config = still_config({"train.epochs=2"});
  ASSERT_TRUE(stops(config, folder_, 9));  // in the second epoch
  std::filesystem::remove(folder_.file("checkpoints/best.safetensors"));
  const LogCapture log;
  train(config);
  EXPECT_THAT(log.warnings(),
              Contains(HasSubstr("the test split is not evaluated: ")));
  EXPECT_FALSE(found().test);
}

}  // namespace
}  // namespace kith
