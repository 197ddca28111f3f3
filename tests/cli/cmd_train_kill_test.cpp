// A training that is killed at any moment, or asked to stop, and resumed ends
// like one that was not.

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kith/core/file_lock.h"
#include "kith/io/safetensors.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

constexpr int kEpochs = 40;
constexpr int kSteps = 3 * kEpochs;
constexpr int kEvalEvery = 10;

std::vector<std::string> arguments(const std::string& config,
                                   const std::string& run, bool resume) {
  std::vector<std::string> all = {
      "train",     config,
      "--out",     run,
      "--set",     "train.epochs=" + std::to_string(kEpochs),
      "--set",     "train.checkpoint_steps=2",
      "--set",     "eval.every=" + std::to_string(kEvalEvery),
      "--device",  "cpu",
      "--threads", "2"};
  if (resume) all.push_back("--resume");
  return all;
}

/// Runs until the log has this many lines, then kills.
void run_and_kill(const std::string& config, const std::string& run,
                  bool resume, int lines) {
  ProgramOptions options;
  options.kill_when = [&] { return count_lines(run + "/log.jsonl") >= lines; };
  const ProgramResult result =
      run_kith(arguments(config, run, resume), options);
  ASSERT_EQ(result.signal, SIGKILL)
      << "it ended before it was killed: " << result.err;
  EXPECT_FALSE(std::filesystem::exists(run + "/metrics.json"));
}

void expect_same_tensors(const std::string& a, const std::string& b) {
  const SafetensorsFile one(a);
  const SafetensorsFile two(b);
  ASSERT_EQ(one.entries().size(), two.entries().size());
  EXPECT_GT(one.entries().size(), 10u);
  for (const SafetensorsEntry& entry : one.entries()) {
    ASSERT_NE(two.find(entry.name), nullptr) << entry.name;
    EXPECT_EQ(one.read(entry.name).bytes, two.read(entry.name).bytes)
        << entry.name;
  }
}

TEST(TrainCommand, KilledAndResumedItEndsInTheSameBytes) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  const std::string whole = folder.file("whole");
  const std::string broken = folder.file("broken");
  expect_success(arguments(config, whole, false));

  run_and_kill(config, broken, false, 1);
  run_and_kill(config, broken, true, 50);
  run_and_kill(config, broken, true, 51);
  run_and_kill(config, broken, true, 100);
  const ProgramResult last = expect_success(arguments(config, broken, true));
  EXPECT_NE(last.err.find("resumed after step"), std::string::npos);

  EXPECT_EQ(contents(broken + "/metrics.json"),
            contents(whole + "/metrics.json"));
  for (const char* name : {"last", "best"}) {
    const std::string file =
        std::string("/checkpoints/") + name + ".safetensors";
    expect_same_tensors(broken + file, whole + file);
  }
  // Every step and evaluation is in the log once, with that before training.
  EXPECT_EQ(count_lines(broken + "/log.jsonl"),
            kSteps + 1 + kEpochs / kEvalEvery);

  // Resuming what has ended changes nothing.
  expect_success(arguments(config, broken, true));
  EXPECT_EQ(contents(broken + "/metrics.json"),
            contents(whole + "/metrics.json"));
}

TEST(TrainCommand, IsRefusedWhereAnotherIsAtWork) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  const std::string run = folder.file("run");
  const std::string holder =
      "another kith train (process " + std::to_string(::getpid()) + ")";
  {
    const FolderLock lock(run, "kith train");
    expect_failure(1, train_arguments(config, run), {run, holder});
    expect_failure(1, {"train", "--resume", "--out", run}, {run});
  }
  expect_success(train_arguments(config, run));
  const FolderLock lock(run, "kith train");
  expect_failure(1, {"train", "--resume", "--out", run}, {run, holder});
}

/// Exit codes are those that a shell has for a program that a signal ended.
class SignalledTraining : public ::testing::TestWithParam<int> {};

TEST_P(SignalledTraining, WritesACheckpointAndSaysHowToGoOn) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  const std::string whole = folder.file("whole");
  const std::string broken = folder.file("broken");
  const std::vector<std::string> few = {"--set", "train.epochs=40", "--set",
                                        "eval.every=20"};
  expect_success(train_arguments(config, whole, few));

  ProgramOptions options;
  options.signal = GetParam();
  options.kill_when = [&] { return count_lines(broken + "/log.jsonl") >= 10; };
  const ProgramResult stopped =
      run_kith(train_arguments(config, broken, few), options);
  EXPECT_EQ(stopped.exit_code, 128 + GetParam()) << stopped.err;
  EXPECT_EQ(stopped.signal, 0);
  EXPECT_EQ(stopped.out, "");
  EXPECT_THAT(stopped.err,
              ::testing::EndsWith("; go on with: kith train --resume --out " +
                                  broken + " --device cpu --threads 1\n"));
  EXPECT_FALSE(std::filesystem::exists(broken + "/metrics.json"));

  const ProgramResult last =
      expect_success({"train", "--resume", "--out", broken, "--device", "cpu",
                      "--threads", "1"});
  // Though no step but those that end an epoch has a checkpoint otherwise.
  const int steps = count_lines(broken + "/log.jsonl");
  EXPECT_EQ(steps, count_lines(whole + "/log.jsonl"));
  EXPECT_THAT(last.err, ::testing::HasSubstr("resumed after step"));
  EXPECT_EQ(contents(broken + "/metrics.json"),
            contents(whole + "/metrics.json"));
  for (const char* name : {"last", "best"}) {
    const std::string file =
        std::string("/checkpoints/") + name + ".safetensors";
    expect_same_tensors(broken + file, whole + file);
  }
}

TEST_P(SignalledTraining, ASecondSignalEndsItAtOnce) {
  const TempDir folder;
  const std::string config = folder.write("tiny.yaml", kTinyConfig);
  const std::string run = folder.file("run");
  ProgramOptions options;
  options.signal = GetParam();
  options.insist = true;
  options.kill_when = [&] { return count_lines(run + "/log.jsonl") >= 1; };
  // Steps of more than a second: the second signal comes within one.
  const ProgramResult result = run_kith(
      train_arguments(config, run,
                      {"--set", "model.input.size=128", "--set",
                       "model.backbone.width=64", "--set", "sampler.batch=48"}),
      options);
  EXPECT_EQ(result.signal, GetParam()) << result.exit_code << result.err;
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalledTraining,
                         ::testing::Values(SIGINT, SIGTERM));

}  // namespace
}  // namespace kith
