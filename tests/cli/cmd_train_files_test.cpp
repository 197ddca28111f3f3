// The files of a run: one training at a time writes them, and what has changed
// since is not taken for what was written.

#include <filesystem>
#include <future>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kith/core/file.h"
#include "kith/core/file_lock.h"
#include "kith/io/safetensors.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class TrainFiles : public ::testing::Test {
 protected:
  std::string contents(const std::string& file) const {
    return read_file(run_ + "/" + file, uint64_t{1} << 26);
  }

  TempDir folder_;
  std::string config_ = folder_.write("tiny.yaml", kTinyConfig);
  std::string run_ = folder_.file("run");
  std::string last_ = run_ + "/checkpoints/last.safetensors";
};

TEST_F(TrainFiles, AFolderIsForOneTraining) {
  expect_success(train_arguments(config_, run_));
  const FolderLock lock(run_, "test");
  expect_failure(
      1, train_arguments(config_, run_, {"--resume"}),
      {run_, "another kith train", "process ", std::to_string(::getpid())});
  // Who only reads need not wait.
  expect_success({"eval", run_, "--device", "cpu"});
}

TEST_F(TrainFiles, OfTwoThatStartAtOnceOneTrains) {
  const auto train = [&](const char* seed) {
    return run_kith(train_arguments(
        config_, run_, {"--seed", seed, "--set", "train.epochs=4"}));
  };
  auto other = std::async(std::launch::async, train, "2");
  const ProgramResult one = train("1");
  const ProgramResult two = other.get();
  ASSERT_NE(one.exit_code == 0, two.exit_code == 0) << one.err << two.err;
  EXPECT_THAT(
      one.exit_code == 0 ? two.err : one.err,
      AnyOf(HasSubstr("another kith train"), HasSubstr("already holds a run")));
  const std::string seed = one.exit_code == 0 ? "seed: 1" : "seed: 2";
  EXPECT_THAT(contents("config.yaml"), HasSubstr(seed));
  const SafetensorsFile last(last_);
  EXPECT_THAT(last.metadata().at("kith.config"), HasSubstr(seed));
}

// All over the file: header, configuration and weights.
TEST_F(TrainFiles, AChangedBitIsNeverAnotherNumber) {
  expect_success(train_arguments(config_, run_));
  const std::vector<std::string> eval = {
      "eval", last_, "--device", "cpu", "--json", "--threads", "1"};
  const std::string right = expect_success(eval).out;
  const std::string whole = contents("checkpoints/last.safetensors");
  constexpr size_t kTries = 10;
  for (size_t i = 0; i < kTries; ++i) {
    std::string bytes = whole;
    bytes[i * whole.size() / kTries + 3 * i] ^= static_cast<char>(1 << (i % 8));
    write_file(last_, bytes);
    const ProgramResult result = run_kith(eval);
    if (result.exit_code == 0) {
      EXPECT_EQ(result.out, right) << i;
    } else {
      EXPECT_EQ(result.exit_code, 1) << i;
      EXPECT_THAT(result.err, HasSubstr(last_)) << i;
    }
  }
}

TEST_F(TrainFiles, OffersTheCheckpointBeforeADamagedOne) {
  expect_success(train_arguments(config_, run_));
  const std::string metrics = contents("metrics.json");
  const std::string best = contents("checkpoints/last.safetensors");
  std::string bytes = best;
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(last_, bytes);
  const std::string previous = run_ + "/checkpoints/last.previous.safetensors";
  expect_failure(1, {"eval", run_}, {last_, "damaged", previous});
  expect_failure(1, train_arguments(config_, run_, {"--resume"}),
                 {last_, "damaged", "mv " + previous + " " + last_});
  std::filesystem::rename(previous, last_);
  const ProgramResult resumed =
      expect_success(train_arguments(config_, run_, {"--resume"}));
  EXPECT_THAT(resumed.err, HasSubstr("resumed after step 3"));
  EXPECT_EQ(contents("metrics.json"), metrics);
  EXPECT_EQ(contents("checkpoints/last.safetensors"), best);
}

TEST_F(TrainFiles, WhatAKilledTrainingLeftIsRemoved) {
  std::filesystem::create_directories(run_ + "/checkpoints");
  write_file(run_ + "/.kith-999999-0.tmp", "half");
  write_file(run_ + "/checkpoints/.kith-999999-1.tmp", "half");
  expect_success(train_arguments(config_, run_));
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(run_)) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

}  // namespace
}  // namespace kith
