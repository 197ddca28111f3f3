// What a training needs of its sampler, its head and its data, as the program
// says it.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

class TrainNeeds : public ::testing::Test {
 protected:
  std::string config(const std::string& more = "") const {
    return folder_.write("tiny.yaml", kTinyConfig + more);
  }

  TempDir folder_;
};

// Loss and gradient were 0.0, and the exit code as well.
TEST_F(TrainNeeds, OneImageAClassIsRefusedForALossOnPositives) {
  expect_failure(2,
                 train_arguments(config(), folder_.file("run"),
                                 {"--set", "sampler.per_class=1"}),
                 {"--set sampler.per_class=1", "recall_at_k",
                  "'sampler.per_class' = 1", "2 or more"});
}

TEST_F(TrainNeeds, ALossOnUnitVectorsNamesTheLineOfTheHead) {
  expect_failure(
      2,
      train_arguments(folder_.write("arcface.yaml",
                                    "data: {name: glyphs, classes: 12}\n"
                                    "loss: {name: arcface}\n"
                                    "model:\n  head:\n    l2: false\n"),
                      folder_.file("run")),
      {"arcface.yaml:5: ", "arcface", "unit vectors", "'model.head.l2'"});
}

TEST_F(TrainNeeds, ALossOnAnyEmbeddingsGetsThemAndTheLogSaysSo) {
  const ProgramResult result = expect_success(
      train_arguments(config("loss: {name: npair}\n"), folder_.file("run"),
                      {"--set", "train.steps=1"}));
  EXPECT_THAT(result.err, HasSubstr("npair is defined on embeddings of any "
                                    "length: model.head.l2 is false"));
  EXPECT_THAT(expect_success(
                  {"train", config("loss: {name: npair}\n"), "--print-config"})
                  .out,
              HasSubstr("l2: false"));
}

TEST_F(TrainNeeds, WhatAnEpochLeavesOutIsLogged) {
  const ProgramResult result = expect_success(
      train_arguments(config(), folder_.file("run"),
                      {"--set", "train.steps=1", "--set", "sampler.batch=20"}));
  EXPECT_THAT(result.err,
              HasSubstr("the first epoch has 40 of 48 training images in 2 "
                        "batches; 8 are left out"));
}

TEST_F(TrainNeeds, ARunWithoutSignalIsStopped) {
  expect_failure(
      1,
      train_arguments(
          config(), folder_.file("run"),
          {"--set", "data.classes=96", "--set", "data.per_class=1", "--set",
           "sampler={name: uniform, batch: 16}", "--set", "eval.split=none"}),
      {"epoch 1: the gradient was exactly zero in all 3 steps",
       "queries_without_positives 16", "nothing is learnt"});
}

}  // namespace
}  // namespace kith
