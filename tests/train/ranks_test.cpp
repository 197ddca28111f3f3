// Several ranks, here threads, that train one network: the numbers are those of
// one rank, with lanes to the bit.

#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/train/trainer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// Six classes of eight to train on and, in the test split, six more.
MemorySet pictures_for_ranks() {
  std::vector<Item> items(96);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = i >= 48 ? Split::kTest : Split::kTrain;
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

/// What a run leaves behind, without times.
struct Left {
  std::string metrics;
  std::string last;
  std::string best;
  std::vector<std::pair<int64_t, double>> losses;

  bool operator==(const Left& other) const = default;
};

class TrainingOnRanks : public ::testing::Test {
 protected:
  static Left left_in(const TempDir& folder) {
    const auto text = [&](const char* file) {
      return read_file(folder.file(file), 1 << 24);
    };
    return {text("metrics.json"), text("checkpoints/last.safetensors"),
            text("checkpoints/best.safetensors"),
            loss_curve(folder.file("log.jsonl"))};
  }

  std::vector<std::string> train(const RunConfig& config, int64_t size,
                                 const TempDir& folder, bool resume = false) {
    return errors_of_ranks(
        size,
        [&](Communicator& ranks) {
          at::set_num_threads(1);
          // Threads share LibTorch's random numbers, which a new network takes.
          std::unique_lock lock(mutex_);
          Trainer trainer(config, data_, folder.path(), c10::kCPU,
                          silent_progress(), ranks);
          lock.unlock();
          if (resume) trainer.resume();
          trainer.run();
        },
        std::chrono::seconds(60));
  }

  Left trained(const std::vector<std::string>& changes, int64_t size) {
    const TempDir folder;
    EXPECT_THAT(train(tiny_config(changes), size, folder), Each(""));
    return left_in(folder);
  }

  /// The losses of all steps are those of one rank. Batch norm keeps its
  /// statistics: those of a chunk depend on how long it is.
  void expect_that_of_one(std::vector<std::string> changes,
                          double tolerance = 1e-4) {
    changes.emplace_back("model.bn=stats");
    const Left one = trained(changes, 1);
    ASSERT_EQ(one.losses.size(), 9u);
    for (const int64_t size : {2, 3, 4, 8}) {
      SCOPED_TRACE(std::to_string(size) + " ranks");
      const Left all = trained(changes, size);
      ASSERT_EQ(all.losses.size(), one.losses.size());
      for (size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(all.losses[i].second, one.losses[i].second,
                    tolerance * std::abs(one.losses[i].second))
            << i;
      }
    }
  }

  MemorySet data_ = pictures_for_ranks();
  std::mutex mutex_;
};

TEST_F(TrainingOnRanks, TakesTheStepsOfOne) {
  expect_that_of_one({"train.sub_batch=2"});
  expect_that_of_one({});
}

TEST_F(TrainingOnRanks, WithVirtualExamples) {
  expect_that_of_one({"loss.simix=true", "train.sub_batch=3"});
}

TEST_F(TrainingOnRanks, WithTuplesOfAMiner) {
  expect_that_of_one({"loss={name: margin}", "train.sub_batch=2"});
}

TEST_F(TrainingOnRanks, WithProxiesThatTheLossLearns) {
  expect_that_of_one({"loss={name: proxy_anchor}"});
}

TEST_F(TrainingOnRanks, WithHist) {
  expect_that_of_one({"loss={name: hist, hidden: 16}"});
}

TEST_F(TrainingOnRanks, WithMemoryOfPastBatches) {
  expect_that_of_one({"train.memory=32"});
}

TEST_F(TrainingOnRanks, WithNestedSizes) {
  expect_that_of_one({"model.head.nested=[2, 6]", "train.sub_batch=2"});
  expect_that_of_one({"model.head.nested=[2, 6]", "loss={name: proxy_anchor}"});
}

TEST_F(TrainingOnRanks, WithManifoldMixup) {
  expect_that_of_one({"train.mixup=2", "train.sub_batch=2"});
}

TEST_F(TrainingOnRanks, WithFrozenParameters) {
  expect_that_of_one({"train.freeze=[backbone.block1_*]", "train.sub_batch=2"});
}

TEST_F(TrainingOnRanks, WithAdapters) {
  expect_that_of_one({"model.lora={rank: 2}", "train.sub_batch=2"});
}

TEST_F(TrainingOnRanks, WithASamplerThatChoosesByEmbeddings) {
  expect_that_of_one({"sampler={name: frechet, batch: 16, pool: 32}"});
}

TEST_F(TrainingOnRanks, WithFeaturesThatAreComputedOnce) {
  expect_that_of_one({"train.cached_features=2", "train.sub_batch=2"});
}

/// Chunks of all ranks together have the statistics of one rank's whole batch:
/// the losses are those of one.
TEST_F(TrainingOnRanks, WithSharedStatisticsOfBatchNorm) {
  const Left one = trained({"model.bn=train"}, 1);
  for (const int64_t size : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    const Left all = trained({"model.bn=sync"}, size);
    ASSERT_EQ(all.losses.size(), one.losses.size());
    for (size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_NEAR(all.losses[i].second, one.losses[i].second, 1e-4) << i;
    }
  }
}

/// Norms that are frozen share nothing, the others go on in step.
TEST_F(TrainingOnRanks, WithSharedStatisticsAboveFrozenLayers) {
  const std::string freeze =
      "train.freeze=[backbone.block1_*, backbone.block3_norm]";
  const Left one = trained({"model.bn=train", freeze}, 1);
  const Left two = trained({"model.bn=sync", freeze}, 2);
  ASSERT_EQ(two.losses.size(), one.losses.size());
  for (size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(two.losses[i].second, one.losses[i].second, 1e-4) << i;
  }
}

/// Batches of 16 on 3 ranks are 5, 5 and 6 pictures, in chunks of at most 2.
TEST_F(TrainingOnRanks, RunInStepWhereSharesAreNotEqual) {
  for (const std::string keep : {"none", "all", "auto"}) {
    SCOPED_TRACE(keep);
    const TempDir folder;
    const RunConfig config = tiny_config(
        {"model.bn=sync", "train.sub_batch=2", "train.keep_graphs=" + keep});
    EXPECT_THAT(train(config, 3, folder), Each(""));
    // The statistics of a chunk do not depend on whether its graph is kept.
    const Left kept = left_in(folder);
    const Left again = trained({"model.bn=sync", "train.sub_batch=2"}, 3);
    EXPECT_EQ(kept.losses, again.losses);
  }
}

TEST_F(TrainingOnRanks, SharedStatisticsRefuseWhatTheyCannotBe) {
  const TempDir folder;
  EXPECT_THAT(train(tiny_config({"model.bn=sync", "train.lanes=2"}), 2, folder),
              Each(HasSubstr("'model.bn' is sync, so statistics are those of "
                             "all ranks together")));
  const TempDir other;
  EXPECT_THAT(
      train(tiny_config({"model.bn=sync", "train.sub_batch=1"}), 3, other),
      Each(HasSubstr("the same number of chunks, but of 16 pictures a rank has "
                     "no more than 5")));
}

TEST_F(TrainingOnRanks, WithLanesGivesTheSameBytes) {
  for (const std::vector<std::string>& changes :
       std::vector<std::vector<std::string>>{
           {"train.lanes=4"},
           {"train.lanes=4", "train.sub_batch=2", "loss.simix=true"},
           {"train.lanes=4", "model.bn=train"},
           {"train.lanes=4", "model.bn=train",
            "train.freeze=[backbone.block1_*]"},
           {"train.lanes=4", "model.bn=train", "train.ema=0.9"},
           {"train.lanes=4", "model.lora={rank: 2}",
            "optimizer.layer_decay=0.5"},
           {"train.lanes=4", "loss={name: proxy_anchor}"},
           {"train.lanes=4", "loss={name: margin}",
            "model.head.nested=[2, 6]"}}) {
    SCOPED_TRACE(changes.back());
    const Left one = trained(changes, 1);
    EXPECT_TRUE(trained(changes, 2) == one);
    EXPECT_TRUE(trained(changes, 4) == one);
  }
  const Left one = trained({"train.lanes=6"}, 1);
  EXPECT_TRUE(trained({"train.lanes=6"}, 3) == one);
  EXPECT_TRUE(trained({"train.lanes=6"}, 2) == one);
}

TEST_F(TrainingOnRanks, GoesOnWithAnotherNumberOfRanks) {
  const std::vector<std::string> changes = {"train.lanes=4"};
  const Left whole = trained(changes, 1);
  const TempDir folder;
  std::vector<std::string> part = changes;
  part.emplace_back("train.epochs=1");
  EXPECT_THAT(train(tiny_config(part), 4, folder), Each(""));
  part.back() = "train.epochs=2";
  EXPECT_THAT(train(tiny_config(part), 2, folder, /*resume=*/true), Each(""));
  EXPECT_THAT(train(tiny_config(changes), 1, folder, /*resume=*/true),
              Each(""));
  EXPECT_EQ(left_in(folder).losses.size(), whole.losses.size());
}

/// Every rank has the average then: each evaluates a part of the images.
TEST_F(TrainingOnRanks, GoesOnWithTheAverageOfItsWeights) {
  const std::vector<std::string> changes = {"train.lanes=4", "train.ema=0.9",
                                            "schedule={name: constant}"};
  const Left whole = trained(changes, 1);
  const TempDir folder;
  std::vector<std::string> part = changes;
  part.emplace_back("train.epochs=1");
  EXPECT_THAT(train(tiny_config(part), 4, folder), Each(""));
  EXPECT_THAT(train(tiny_config(changes), 2, folder, /*resume=*/true),
              Each(""));
  const Left resumed = left_in(folder);
  EXPECT_EQ(resumed.losses, whole.losses);
  EXPECT_EQ(resumed.metrics, whole.metrics);
}

/// The formula of docs/ranks.md.
TEST_F(TrainingOnRanks, SendsWhatTheFormulaSays) {
  const RunConfig config =
      tiny_config({"model.bn=stats", "eval.split=none", "train.epochs=1"});
  for (const int64_t size : {2, 4}) {
    const TempDir folder;
    std::vector<double> sent(static_cast<size_t>(size));
    double weights = 0;
    const auto errors = errors_of_ranks(size, [&](Communicator& ranks) {
      std::unique_lock lock(mutex_);
      Trainer trainer(config, data_, folder.path(), c10::kCPU,
                      silent_progress(), ranks);
      lock.unlock();
      trainer.run();
      lock.lock();
      sent[static_cast<size_t>(ranks.rank())] =
          static_cast<double>(trainer.bytes_sent()) /
          static_cast<double>(trainer.steps_done());
      weights = 0;
      for (const auto& [name, weight] : trainer.net().weights()) {
        weights += static_cast<double>(weight.numel() + 1);
      }
    });
    ASSERT_THAT(errors, Each(""));
    const auto n = static_cast<double>(size);
    const double batch = 16, dim = 16, per_class = 4;
    // So few weights are gathered and added up by every rank.
    ASSERT_LE(4 * weights, 32 << 10);
    const double a_rank =
        batch / n * (n - 1) * 4 * (dim + 2 + 4 * per_class + dim / n) +
        4 * weights * (n - 1);
    double mean = 0;
    for (const double bytes : sent) mean += bytes / n;
    EXPECT_NEAR(mean, a_rank, 0.05 * a_rank) << size << " ranks";
  }
}

TEST_F(TrainingOnRanks, RefusesRanksThatDoNotDivideTheLanes) {
  const TempDir folder;
  EXPECT_THAT(train(tiny_config({"train.lanes=4"}), 3, folder),
              Each(HasSubstr("'train.lanes' is 4, but there are 3 ranks")));
}

}  // namespace
}  // namespace kith
