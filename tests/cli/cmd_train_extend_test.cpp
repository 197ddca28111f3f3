// A run that is finished, and one that goes on for longer or with changes.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ExtendedTraining : public ::testing::Test {
 protected:
  void SetUp() override { expect_success(train_arguments(config_, run_)); }

  std::vector<std::string> resume(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"train",    "--resume", "--out",     run_,
                                    "--device", "cpu",      "--threads", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  TempDir folder_;
  std::string config_ = folder_.write("tiny.yaml", kTinyConfig);
  std::string run_ = folder_.file("run");
};

TEST_F(ExtendedTraining, WhatIsFinishedSaysSoAndHowToExtendIt) {
  const std::string before = contents(run_ + "/metrics.json");
  const ProgramResult result = expect_success(resume({}));
  EXPECT_THAT(result.err,
              HasSubstr("the run is finished: 2 epochs, 6 steps; resumed with "
                        "a larger train.epochs it goes on"));
  EXPECT_THAT(result.err,
              HasSubstr("to extend the run: kith train --resume --out " + run_ +
                        " --device cpu --threads 1 --set train.epochs=N"));
  EXPECT_EQ(contents(run_ + "/metrics.json"), before);
}

TEST_F(ExtendedTraining, GoesOnAndItsPageSaysSo) {
  const ProgramResult result = expect_success(
      resume({"--set", "train.epochs=4", "--set", "eval.every=1"}));
  EXPECT_THAT(result.err, HasSubstr("resumed after step 6"));
  EXPECT_THAT(result.err, HasSubstr("the run goes on with train.epochs 4 (was "
                                    "2), eval.every 1 (was 0)"));
  EXPECT_THAT(result.err,
              HasSubstr("the schedule goes on over 4 epochs from epoch 3 on"));
  EXPECT_THAT(contents(run_ + "/config.yaml"), HasSubstr("epochs: 4"));
  const auto changes = nlohmann::json::parse(contents(run_ + "/changes.json"));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0],
            nlohmann::json::parse("{\"epoch\": 2, \"step\": 6, \"key\": "
                                  "\"train.epochs\", \"old\": \"2\", "
                                  "\"new\": \"4\"}"));
  const auto metrics = nlohmann::json::parse(contents(run_ + "/metrics.json"));
  EXPECT_EQ(metrics.at("last").at("epoch"), 4);
  EXPECT_EQ(metrics.at("history").size(), 4u);  // epochs 0, 2, 3 and 4

  const std::string page = folder_.file("page.html");
  expect_success({"report", run_, "--out", page, "--device", "cpu"});
  EXPECT_THAT(contents(page), HasSubstr("after epoch 2, step 6: train.epochs "
                                        "2 → 4; after epoch 2, step 6: "
                                        "eval.every 0 → 1"));
}

// The checkpoint has the change by then.
TEST_F(ExtendedTraining, NotesTheChangeWhenItWasStoppedBeforeTheNote) {
  const std::string note = run_ + "/changes.json";
  std::filesystem::create_directories(note);
  const auto longer = resume({"--set", "train.epochs=3"});
  expect_failure(1, longer, {note, "not a regular file"});
  std::filesystem::remove(note);
  expect_success(longer);
  const auto changes = nlohmann::json::parse(contents(note));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].at("key"), "train.epochs");
}

TEST_F(ExtendedTraining, SaysWhyTheOldCheckpointCannotGo) {
  const std::string old = run_ + "/checkpoints/last.previous.safetensors";
  std::filesystem::remove(old);
  std::filesystem::create_directories(old + "/x");
  expect_failure(1, resume({"--set", "train.epochs=3"}),
                 {old, "cannot be removed", "Directory not empty"});
}

TEST_F(ExtendedTraining, RefusesWhatChangesItsMeaning) {
  expect_failure(2, resume({"--set", "loss.t2=0.5"}),
                 {"'loss.t2' differs", run_ + "/config.yaml", "is 0.5",
                  "train.init_from: " + run_});
  expect_failure(2, resume({"--set", "eval.split=train"}),
                 {"'eval.split' differs", "kith eval " + run_});
  expect_failure(2, resume({"--set", "train.epochs=1"}),
                 {"'train.epochs' is 1", "already done 2 epochs, 6 steps"});
  expect_failure(2, resume({"--set", "optimizer.lr=0.01"}),
                 {"'optimizer.lr' differs", "--allow-lr"});
  expect_failure(2, train_arguments(config_, run_, {"--allow-lr"}),
                 {"--allow-lr goes with --resume"});
  // None of these touched the run.
  EXPECT_THAT(contents(run_ + "/config.yaml"), HasSubstr("epochs: 2"));
  EXPECT_FALSE(std::filesystem::exists(run_ + "/changes.json"));
}

TEST_F(ExtendedTraining, TakesAnotherLearningRateThatIsAllowed) {
  const ProgramResult result = expect_success(resume(
      {"--allow-lr", "--set", "optimizer.lr=0.25", "--set", "train.epochs=3"}));
  EXPECT_THAT(result.err, HasSubstr("optimizer.lr 0.25 (was "));
  EXPECT_THAT(contents(run_ + "/changes.json"), HasSubstr("optimizer.lr"));
  // Once it goes on with it, nothing has to be allowed any more.
  const ProgramResult again = expect_success(resume({}));
  EXPECT_THAT(again.err, Not(HasSubstr("goes on with")));
}

}  // namespace
}  // namespace kith
