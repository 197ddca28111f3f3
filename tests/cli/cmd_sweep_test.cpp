// `kith sweep` as a user calls it: trainings in processes of their own.

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

const char* const kEval = "eval: {metrics: [recall_any@1, map_at_r]}\n";

const char* const kTwoLosses =
    "study:\n"
    "  title: Two losses\n"
    "  seeds: [0, 1]\n"
    "  axes: [{name: loss, values: {rsk: {}, supcon: {loss: {name: "
    "supcon}}}}]\n"
    "  published: {source: A paper, rows: [{loss: rsk, recall_any@1: 40}]}\n";

std::string text_of(const std::string& path) {
  return read_file(path, uint64_t{1} << 24);
}

nlohmann::json json_of(const std::string& path) {
  return nlohmann::json::parse(text_of(path));
}

class SweepCommand : public ::testing::Test {
 protected:
  std::string study(const std::string& section) const {
    return folder_.write("tiny.yaml", kTinyConfig + (kEval + section));
  }

  /// One thread each: the same numbers whatever runs beside it.
  std::vector<std::string> arguments(
      const std::string& file, const std::string& out,
      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"sweep",           file,       "--out",
                                    folder_.file(out), "--device", "cpu",
                                    "--threads",       "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string table(const std::string& out) const {
    return text_of(folder_.file(out + "/table.csv"));
  }

  const TempDir folder_;
};

TEST_F(SweepCommand, ListsWithoutTraining) {
  const std::string file = study(kTwoLosses);
  const ProgramResult result =
      expect_success(arguments(file, "out", {"--list", "--only", "rsk"}));
  EXPECT_EQ(result.out,
            "| loss | seed | state | published |\n"
            "|---|---|---|---|\n"
            "| rsk | 0 | to do | recall_any@1 40 |\n"
            "| rsk | 1 | to do | recall_any@1 40 |\n"
            "\nTwo losses: 2 runs, 0 done, in " +
                folder_.file("out") + "\n");
  EXPECT_FALSE(fs::exists(folder_.file("out")));
}

TEST_F(SweepCommand, TrainsEveryRunOnceHoweverManyAtATime) {
  const std::string file = study(kTwoLosses);
  const ProgramResult one =
      expect_success(arguments(file, "one", {"--only", "rsk"}));
  expect_success(arguments(file, "two", {"--only", "rsk", "--jobs", "2"}));
  EXPECT_EQ(table("one"), table("two"));
  EXPECT_EQ(one.out, text_of(folder_.file("one/table.md")));
  EXPECT_NE(one.err.find("2/2 rsk/seed-1: recall_any@1 "), std::string::npos)
      << one.err;
  EXPECT_NE(table("one").find("\nrsk,2,"), std::string::npos);

  // Nothing is left to do; another format of the same.
  const auto before =
      fs::last_write_time(folder_.file("one/rsk/seed-0/metrics.json"));
  const ProgramResult again = expect_success(
      arguments(file, "one", {"--only", "rsk", "--format", "latex"}));
  EXPECT_EQ(again.out, text_of(folder_.file("one/table.tex")));
  EXPECT_EQ(fs::last_write_time(folder_.file("one/rsk/seed-0/metrics.json")),
            before);
  const ProgramResult json =
      expect_success(arguments(file, "one", {"--only", "rsk", "--json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out).at("runs").size(), 2u);

  expect_failure(2, arguments(file, "one", {"--set", "train.epochs=3"}),
                 {"'train.epochs'", "rsk/seed-0", "--out"});
}

TEST_F(SweepCommand, EvaluatesEachRunAsItIsAsked) {
  const std::string section =
      "study:\n"
      "  evaluations:\n"
      "    - {name: spoiled, corruptions: [gaussian_noise, jpeg]}\n"
      "    - {name: small, scales: [0.5]}\n"
      "  metrics: [map_at_r, spoiled/mean_of_corrupted/map_at_r, "
      "small/map_at_r]\n"
      "  averages: {Avg: [map_at_r, small/map_at_r]}\n";
  const std::string file = study(section);
  const ProgramResult first = expect_success(arguments(file, "out"));
  const auto json = json_of(folder_.file("out/results.json"));
  const auto run = json.at("runs").at(0);
  const auto value = [&](const char* name) {
    return run.at("metrics").at(name).get<double>();
  };
  EXPECT_NEAR(value("spoiled/mean_of_corrupted/map_at_r"),
              (value("spoiled/gaussian_noise/map_at_r") +
               value("spoiled/jpeg/map_at_r")) /
                  2,
              1e-12);
  // The pictures as they are, once more.
  EXPECT_EQ(value("spoiled/map_at_r"), value("map_at_r"));
  EXPECT_NE(value("small/map_at_r"), value("map_at_r"));
  EXPECT_NEAR(value("Avg"), (value("map_at_r") + value("small/map_at_r")) / 2,
              1e-12);
  const auto interval = run.at("intervals").at("small/map_at_r");
  EXPECT_LT(interval.at(0).get<double>(), value("small/map_at_r"));
  EXPECT_GT(interval.at(1).get<double>(), value("small/map_at_r"));
  EXPECT_NE(first.out.find(" ["), std::string::npos) << first.out;

  // What is there is not made again, what was asked otherwise is.
  const std::string place = folder_.file("out/seed-0/eval/");
  const auto time_of = [&](const char* name) {
    return fs::last_write_time(place + name + "/metrics.json");
  };
  const auto spoiled = time_of("spoiled");
  const auto small = time_of("small");
  std::string other = section;
  other.replace(other.find("[0.5]"), 5, "[0.75]");
  expect_success(arguments(study(other), "out"));
  EXPECT_EQ(time_of("spoiled"), spoiled);
  EXPECT_NE(time_of("small"), small);
}

TEST_F(SweepCommand, KilledAndRunAgainItEndsInTheSameTable) {
  const std::string file = study(kTwoLosses);
  const std::vector<std::string> longer = {"--set", "train.epochs=30", "--only",
                                           "rsk"};
  expect_success(arguments(file, "whole", longer));
  ProgramOptions options;
  options.kill_when = [&] {
    return count_lines(folder_.file("broken/rsk/seed-1/log.jsonl")) >= 30;
  };
  const ProgramResult killed =
      run_kith(arguments(file, "broken", longer), options);
  ASSERT_EQ(killed.signal, SIGKILL) << killed.err;
  EXPECT_TRUE(fs::exists(folder_.file("broken/rsk/seed-0/metrics.json")));
  EXPECT_FALSE(fs::exists(folder_.file("broken/rsk/seed-1/metrics.json")));
  // At once: the training that it left ends with it.
  expect_success(arguments(file, "broken", longer));
  EXPECT_EQ(table("broken"), table("whole"));
  EXPECT_NE(text_of(folder_.file("broken/rsk/seed-1/train.log"))
                .find("resumed after step"),
            std::string::npos);
}

TEST_F(SweepCommand, ARunThatFailsDoesNotStopTheOthers) {
  // Wrong only when it begins.
  const std::string file = study(
      "study:\n  axes: [{name: start, key: train.init_from, values: "
      "{elsewhere: /no/such/run, nowhere: ''}}]\n");
  const ProgramResult result = run_kith(arguments(file, "out"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("| elsewhere | 0 | - |"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("| nowhere | 1 | "), std::string::npos)
      << result.out;
  for (const char* part :
       {"elsewhere/seed-0 failed (exit status 1)", "train.log", "/no/such/run",
        "1 of 2 failed: elsewhere/seed-0", "tries them again"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
}

TEST_F(SweepCommand, SearchesOnHeldOutClassesAndTrainsOnAll) {
  const std::string file = study(
      "study:\n  seeds: [0, 1]\n  search: {trials: 2, space: "
      "{optimizer.lr: {from: 1e-4, to: 1e-2, scale: log}}}\n");
  const ProgramResult result = expect_success(
      arguments(file, "out",
                {"--set", "train.validation=0.5", "--set", "eval.every=1",
                 "--set", "sampler.batch=12", "--set", "data.classes=24"}));
  const auto chosen = json_of(folder_.file("out/search.json")).at(0);
  EXPECT_EQ(chosen.at("trials").size(), 2u);
  double best = -1;
  for (const auto& trial : chosen.at("trials")) {
    const auto metrics = json_of(folder_.file(
        "out/" + trial.at("folder").get<std::string>() + "/metrics.json"));
    EXPECT_EQ(metrics.at("split"), "validation");
    best = std::max(best, trial.at("value").get<double>());
  }
  EXPECT_EQ(chosen.at("chosen").at("value"), best);
  const auto last = json_of(folder_.file("out/seed-1/metrics.json"));
  EXPECT_EQ(last.at("split"), "test");
  EXPECT_EQ(last.at("last").at("epoch"), chosen.at("chosen").at("epoch"));
  EXPECT_NE(result.out.find("| optimizer.lr | trial | epoch | held-out |"),
            std::string::npos)
      << result.out;
}

TEST_F(SweepCommand, TrainsFoldsAndScoresThemTogether) {
  const std::string file = study("study: {folds: 2, metrics: [map_at_r]}\n");
  const ProgramResult result = expect_success(
      arguments(file, "out",
                {"--set", "eval.every=1", "--set", "sampler.batch=12", "--set",
                 "data.classes=24", "--jobs", "2"}));
  EXPECT_NE(
      result.out.find("| runs | separated/map_at_r | concatenated/map_at_r |"),
      std::string::npos)
      << result.out;
  EXPECT_TRUE(fs::exists(folder_.file("out/seed-0/fold-2/test.npy")));
  // The same by hand.
  const ProgramResult folds = expect_success(
      {"folds", folder_.file("out/seed-0"), "--device", "cpu", "--json"});
  const auto metrics = json_of(folder_.file("out/seed-0/metrics.json"));
  EXPECT_EQ(nlohmann::json::parse(folds.out).at("concatenated/map_at_r"),
            metrics.at("last").at("metrics").at("concatenated/map_at_r"));
}

TEST_F(SweepCommand, SaysWhatIsWrong) {
  const std::string file = study(kTwoLosses);
  const std::string plain = folder_.write("plain.yaml", kTinyConfig);
  expect_failure(2, {"train", file}, {"tiny.yaml:", "kith sweep"});
  expect_failure(2, {"sweep", plain}, {"plain.yaml", "kith train"});
  expect_failure(2, {"sweep", file, "--only", "margin"},
                 {"--only", "'margin'", "rsk, supcon"});
  expect_failure(2, {"sweep", file, "--seeds", "a"}, {"study.seeds"});
  expect_failure(2, {"sweep", file, "--format", "word"}, {"--format", "latex"});
}

}  // namespace
}  // namespace kith
