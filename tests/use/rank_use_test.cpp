// What a user asks for gives the same files with several ranks, written by one.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/tensor_io.h"
#include "kith/train/experiment.h"
#include "kith/use/embed_images.h"
#include "kith/use/evaluate_run.h"
#include "kith/use/make_index.h"
#include "kith/use/score_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string file_text(const std::string& path) {
  return read_file(path, uint64_t{1} << 26);
}

/// The files below a folder, by rising names.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files.push_back(fs::relative(entry.path(), folder).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A run of one epoch.
class RankUse : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir();
    train_experiment(tiny_config({"train.epochs=1", "eval.batch=5"}),
                     dir_->file("run"), at::kCPU, /*resume=*/false,
                     silent_progress());
  }
  static void TearDownTestSuite() { delete dir_; }

  static std::string run() { return dir_->file("run"); }
  std::string file(const std::string& name) const { return own_.file(name); }

  /// Of `size` ranks, each with a folder of its own to write to; only the
  /// first may.
  void expect_same_files(
      const std::function<void(const std::string& folder, Communicator*)>& work,
      const std::vector<int64_t>& sizes = {2, 3}) {
    work(file("alone"), nullptr);
    for (const int64_t size : sizes) {
      const auto folder = [&](int64_t rank) {
        return file(std::to_string(size) + "-" + std::to_string(rank));
      };
      for (const std::string& error :
           errors_of_ranks(size, [&](Communicator& ranks) {
             work(folder(ranks.rank()), &ranks);
           })) {
        EXPECT_EQ(error, "");
      }
      EXPECT_EQ(files_below(folder(0)), files_below(file("alone")));
      for (const std::string& name : files_below(file("alone"))) {
        EXPECT_TRUE(file_text(folder(0) + "/" + name) ==
                    file_text(file("alone") + "/" + name))
            << name;
      }
      for (int64_t rank = 1; rank < size; ++rank) {
        EXPECT_FALSE(fs::exists(folder(rank)));
      }
    }
  }

  static TempDir* dir_;
  TempDir own_;
};

TempDir* RankUse::dir_ = nullptr;

TEST_F(RankUse, EvaluatesARun) {
  expect_same_files([&](const std::string& folder, Communicator* ranks) {
    EvaluateRunOptions options;
    options.model = run();
    options.metrics = {"recall_any@1,2", "map_at_r", "nmi", "spectrum"};
    options.scoring = {.bootstrap = 20, .by_query = true};
    options.corruptions = published_corruptions({"rotation"});
    options.diagnostics = true;
    options.out = folder;
    options.ranks = ranks;
    const EvaluatedRun made = evaluate_run(options, at::kCPU);
    const bool first = ranks == nullptr || ranks->is_first();
    EXPECT_EQ(made.json.empty(), !first);
  });
}

TEST_F(RankUse, EvaluatesWhitenedDescriptors) {
  expect_same_files([&](const std::string& folder, Communicator* ranks) {
    EvaluateRunOptions options;
    options.model = run();
    options.descriptor.flip = true;
    options.descriptor.whitening = {.learn = true, .dim = 4};
    options.out = folder;
    options.ranks = ranks;
    evaluate_run(options, at::kCPU);
  });
}

TEST_F(RankUse, EmbedsImages) {
  expect_same_files(
      [&](const std::string& folder, Communicator* ranks) {
        if (ranks == nullptr || ranks->is_first()) {
          fs::create_directories(folder);
        }
        embed_images({.model = run(),
                      .images = run() + "/config.yaml",
                      .out = folder + "/x.npy",
                      .ids = folder + "/ids.txt",
                      .batch = 7,
                      .ranks = ranks},
                     at::kCPU);
      },
      {1, 2, 4});
}

TEST_F(RankUse, MakesAnIndex) {
  expect_same_files([&](const std::string& folder, Communicator* ranks) {
    const MadeIndex made =
        make_index({.source = {.source = run(), .ranks = ranks},
                    .out = folder + "/index",
                    .export_to = folder + "/shards"},
                   at::kCPU);
    EXPECT_EQ(made.items, 48);
    EXPECT_EQ(made.dim, 16);
  });
}

TEST_F(RankUse, ScoresFiles) {
  torch::manual_seed(1);
  save_npy(file("x.npy"), torch::randn({240, 6}));
  save_npy(file("y.npy"), torch::arange(240, torch::kLong).remainder(31));
  const auto json = [&](Communicator* ranks) {
    return eval_metrics_json(score_files(
        {.embeddings = file("x.npy"),
         .labels = file("y.npy"),
         .metrics = {"recall_any@1,2", "map_at_r", "ami", "tar@0.01"},
         .scoring = {.bootstrap = 20, .ranks = ranks}},
        at::kCPU));
  };
  const std::string alone = json(nullptr);
  for (const int64_t size : kRankCounts) {
    for (const std::string& own : on_ranks<std::string>(
             size, [&](Communicator& ranks) { return json(&ranks); })) {
      EXPECT_EQ(own, alone);
    }
  }
}

TEST_F(RankUse, AnErrorOfTheFirstEndsAll) {
  const std::vector<std::string> errors =
      errors_of_ranks(3, [&](Communicator& ranks) {
        EvaluateRunOptions options;
        options.model = run();
        options.out = ranks.is_first() ? run() + "/config.yaml" : file("out");
        options.ranks = &ranks;
        evaluate_run(options, at::kCPU);
      });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("config.yaml"));
  }
  for (const std::string& error : errors_of_ranks(2, [&](Communicator& ranks) {
         make_index({.source = {.source = run(), .ranks = &ranks},
                     .out = run() + "/config.yaml"},
                    at::kCPU);
       })) {
    EXPECT_THAT(error, HasSubstr("is there already"));
  }
}

TEST_F(RankUse, WhatIsWrongForAllIsSaidByAll) {
  for (const std::string& error : errors_of_ranks(3, [&](Communicator& ranks) {
         evaluate_run({.model = run(), .protocol = "none", .ranks = &ranks},
                      at::kCPU);
       })) {
    EXPECT_THAT(error, HasSubstr("unknown protocol 'none'"));
  }
}

}  // namespace
}  // namespace kith
