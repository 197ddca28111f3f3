// A training by several processes, started in every way that a user has.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/io/safetensors.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

bool is_built(const std::string& engine) {
  const std::string version = expect_success({"--version"}).out;
  const size_t line = version.find("\nranks: ");
  return line != std::string::npos &&
         version.find(engine, line) != std::string::npos;
}

bool can_run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// The steps and evaluations in a log, without times.
std::string log_without_times(const std::string& run) {
  std::istringstream lines(contents(run + "/log.jsonl"));
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    auto record = nlohmann::ordered_json::parse(line);
    for (const char* key : {"seconds", "peak_mb"}) record.erase(key);
    all += record.dump() + "\n";
  }
  return all;
}

/// A process whose command line has `word` and which is this rank; 0: none.
pid_t find_rank(const std::string& word, int rank) {
  const auto text_of = [](const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  };
  const std::string variable = std::string(1, '\0') +
                               "RANK=" + std::to_string(rank) +
                               std::string(1, '\0');
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (text_of(entry.path() / "cmdline").find(word) == std::string::npos ||
        text_of(entry.path() / "environ").find(variable) == std::string::npos) {
      continue;
    }
    return static_cast<pid_t>(std::stol(name));
  }
  return 0;
}

class RanksThatTrain : public ::testing::Test {
 protected:
  void SetUp() override { config_ = folder_.write("tiny.yaml", kTinyConfig); }

  std::vector<std::string> arguments(const std::string& run,
                                     const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train",     config_,
                                    "--out",     folder_.file(run),
                                    "--set",     "train.epochs=20",
                                    "--set",     "train.lanes=4",
                                    "--set",     "train.sub_batch=4",
                                    "--set",     "train.checkpoint_steps=2",
                                    "--set",     "eval.every=5",
                                    "--device",  "cpu",
                                    "--threads", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void train(const std::string& run, const std::vector<std::string>& more) {
    expect_success(arguments(run, more));
  }

  /// The same by a program that starts ranks.
  void launch(const std::vector<std::string>& launcher,
              const std::string& run) {
    std::vector<std::string> argv = launcher;
    argv.push_back(program_path());
    const std::vector<std::string> words = arguments(run, {});
    argv.insert(argv.end(), words.begin(), words.end());
    const ProgramResult result = run_program(argv);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find("recall_any@1"), result.out.rfind("recall_any@1"))
        << "printed by the first rank only: " << result.out;
  }

  /// Metrics, weights, optimiser and log.
  void expect_same(const std::string& a, const std::string& b) {
    SCOPED_TRACE(b);
    const std::string one = folder_.file(a), two = folder_.file(b);
    EXPECT_EQ(contents(one + "/metrics.json"), contents(two + "/metrics.json"));
    EXPECT_EQ(log_without_times(one), log_without_times(two));
    for (const char* name : {"last", "best"}) {
      const std::string file =
          std::string("/checkpoints/") + name + ".safetensors";
      const SafetensorsFile left(one + file), right(two + file);
      ASSERT_EQ(left.entries().size(), right.entries().size());
      for (const SafetensorsEntry& entry : left.entries()) {
        ASSERT_NE(right.find(entry.name), nullptr) << entry.name;
        EXPECT_EQ(left.read(entry.name).bytes, right.read(entry.name).bytes)
            << entry.name;
      }
    }
  }

  TempDir folder_;
  std::string config_;
};

TEST_F(RanksThatTrain, LeaveTheBytesOfOne) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  train("one", {});
  train("two", {"--ranks", "2"});
  train("four", {"--ranks", "4", "--engine", "gloo"});
  expect_same("one", "two");
  expect_same("one", "four");
}

/// Part of its training: the whole takes minutes.
TEST_F(RanksThatTrain, LeaveTheBytesOfOneInTheDemo) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  const std::string out = folder_.file("demo");
  expect_success({"demo", "--out", out, "--set", "train.epochs=2", "--set",
                  "train.lanes=4", "--device", "cpu", "--threads", "1"});
  for (const char* ranks : {"2", "4"}) {
    expect_success({"train", out + "/run/config.yaml", "--out",
                    folder_.file(ranks), "--ranks", ranks, "--device", "cpu",
                    "--threads", "1"});
    expect_same("demo/run", ranks);
  }
}

TEST_F(RanksThatTrain, AreStartedByMpirun) {
  if (!is_built("mpi")) GTEST_SKIP() << "MPI is not built in";
  if (!can_run("mpirun --version")) GTEST_SKIP() << "there is no mpirun";
  train("one", {});
  launch({"/usr/bin/env", "mpirun", "--allow-run-as-root", "--oversubscribe",
          "--bind-to", "none", "-n", "2"},
         "mpi");
  expect_same("one", "mpi");
}

TEST_F(RanksThatTrain, AreStartedByTorchrunWithItsStore) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  if (!can_run("/usr/bin/python3 -c 'import torch.distributed.run'")) {
    GTEST_SKIP() << "Python has no torch";
  }
  train("one", {});
  launch({"/usr/bin/python3", "-m", "torch.distributed.run", "--no_python",
          "--standalone",
          // Without these torch 1.13 fails with Python 3.11: it takes an enum's
          // name for its value.
          "-r", "9:1", "-t", "9:1", "--nproc_per_node", "2"},
         "torchrun");
  expect_same("one", "torchrun");
}

TEST_F(RanksThatTrain, EndTogetherWhenOneIsKilledAndGoOnAsOthers) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  train("whole", {});
  const std::string run = folder_.file("broken");
  struct Kill {
    const char* ranks;
    int victim;
    int lines;  ///< Of the log, when it happens.
  };
  bool resume = false;
  for (const Kill& kill :
       {Kill{"4", 2, 1}, Kill{"2", 0, 15}, Kill{"4", 3, 30}}) {
    SCOPED_TRACE(kill.lines);
    std::vector<std::string> more = {"--ranks", kill.ranks};
    if (resume) more.emplace_back("--resume");
    resume = true;
    bool killed = false;
    std::chrono::steady_clock::time_point when;
    ProgramOptions options;
    options.timeout = std::chrono::seconds(120);
    options.kill_when = [&] {
      if (!killed && count_lines(run + "/log.jsonl") >= kill.lines) {
        const pid_t id = find_rank(run, kill.victim);
        killed = id != 0 && ::kill(id, SIGKILL) == 0;
        when = std::chrono::steady_clock::now();
      }
      return false;
    };
    const ProgramResult result = run_kith(arguments("broken", more), options);
    ASSERT_TRUE(killed) << result.err;
    EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
    EXPECT_LT(std::chrono::steady_clock::now() - when,
              std::chrono::seconds(10));
    EXPECT_THAT(result.err, HasSubstr("rank " + std::to_string(kill.victim) +
                                      " was killed by signal 9"));
  }
  train("broken", {"--resume", "--ranks", "2"});
  expect_same("whole", "broken");
}

/// A number that is another one each time, or that of an earlier time.
uint64_t seed_of_now() {
  const char* again = std::getenv("KITH_TEST_SEED");
  return again != nullptr ? std::stoull(again) : std::random_device()();
}

TEST_F(RanksThatTrain, MayBeKilledAtAnyMoment) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  using Clock = std::chrono::steady_clock;
  const uint64_t seed = seed_of_now();
  std::printf("again with: KITH_TEST_SEED=%llu\n",
              static_cast<unsigned long long>(seed));
  SCOPED_TRACE("KITH_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  };
  // About half of the time is start, a quarter evaluations.
  const std::vector<std::string> usual = {"--set", "eval.every=1", "--set",
                                          "train.epochs=6"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return more;
  };
  const Clock::time_point begin = Clock::now();
  train("whole", with({"--ranks", "4"}));
  const int64_t most_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                              Clock::now() - begin)
                              .count();
  const std::string run = folder_.file("broken");
  constexpr int kKills = 6;
  int kills = 0;
  for (int tries = 0; kills < kKills && tries < 3 * kKills; ++tries) {
    const int64_t ranks = int64_t{2} << below(2);
    const auto victim = static_cast<int>(below(ranks));
    const auto after = std::chrono::milliseconds(below(most_ms));
    const std::string text = std::to_string(ranks) + " ranks, rank " +
                             std::to_string(victim) + " killed after " +
                             std::to_string(after.count()) + " ms";
    SCOPED_TRACE(text);
    const Clock::time_point start = Clock::now();
    Clock::time_point when;
    bool killed = false;
    int lines = 0;
    ProgramOptions options;
    options.timeout = std::chrono::seconds(120);
    options.kill_when = [&] {
      if (killed || Clock::now() < start + after) return false;
      const pid_t id = find_rank(run, victim);
      killed = id != 0 && ::kill(id, SIGKILL) == 0;
      when = Clock::now();
      lines = count_lines(run + "/log.jsonl");
      return false;
    };
    const ProgramResult result = run_kith(
        arguments("broken",
                  with({"--resume", "--ranks", std::to_string(ranks)})),
        options);
    // It may have ended before, or while it was killed.
    if (!killed || result.exit_code == 0) {
      ASSERT_EQ(result.exit_code, 0) << result.err;
      expect_same("whole", "broken");
      std::filesystem::remove_all(run);
      continue;
    }
    std::printf("%s, at %d lines of the log\n", text.c_str(), lines);
    ++kills;
    ASSERT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
    EXPECT_LT(Clock::now() - when, std::chrono::seconds(10));
    EXPECT_THAT(result.err, HasSubstr("rank " + std::to_string(victim) +
                                      " was killed by signal 9"));
  }
  EXPECT_EQ(kills, kKills);
  train("broken", with({"--resume"}));
  expect_same("whole", "broken");
}

TEST_F(RanksThatTrain, StopWhenAskedAndSayHowToGoOn) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  train("whole", {});
  const std::string run = folder_.file("stopped");
  ProgramOptions options;
  options.signal = SIGTERM;
  options.kill_when = [&] { return count_lines(run + "/log.jsonl") >= 4; };
  const ProgramResult result =
      run_kith(arguments("stopped", {"--ranks", "2"}), options);
  EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("go on with: kith train --resume --out " + run +
                        " --device cpu --threads 1 --ranks "
                        "2\n"));
  train("stopped", {"--resume"});
  expect_same("whole", "stopped");
}

TEST_F(RanksThatTrain, SayOnceWhatIsWrong) {
  if (!is_built("gloo")) GTEST_SKIP() << "gloo is not built in";
  expect_failure(2, arguments("run", {"--ranks", "3"}),
                 {"'train.lanes' is 4, but there are 3 ranks"});
  expect_failure(2, arguments("run", {"--ranks", "2", "--engine", "pigeon"}),
                 {"pigeon", "gloo"});
  train("taken", {});
  const ProgramResult result = run_kith(arguments("taken", {"--ranks", "2"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("already holds a run"));
}

}  // namespace
}  // namespace kith
