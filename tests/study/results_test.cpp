#include "kith/study/results.h"

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Spread, IsTheMeanAndStudentsInterval) {
  // Deviation 1, n = 3: t = 4.303, and 4.303 / sqrt(3) = 2.4843.
  const Spread three = spread_of({1, 2, 3});
  EXPECT_DOUBLE_EQ(three.mean, 2);
  EXPECT_NEAR(three.half_width, 2.4843, 1e-4);
  EXPECT_EQ(three.count, 3);
  // Two say too little: the interval would be 12.706 times half the distance.
  EXPECT_TRUE(std::isnan(spread_of({0, 1}).half_width));
  EXPECT_EQ(spread_of({0, 1}).low, 0);
  EXPECT_EQ(spread_of({0, 1}).high, 1);
  // Ten values, t = 2.262, deviation sqrt(2.5 / 9).
  EXPECT_NEAR(spread_of({0, 1, 0, 1, 0, 1, 0, 1, 0, 1}).half_width,
              2.262 * std::sqrt(2.5 / 9 / 10), 1e-9);
}

TEST(Spread, OfManyValuesNearsTheNormalDistribution) {
  std::vector<double> values;
  for (int i = 0; i < 61; ++i) values.push_back(i % 2);
  double mean = 30.0 / 61;
  double squares = 30 * (1 - mean) * (1 - mean) + 31 * mean * mean;
  // t with 60 degrees of freedom is 2.000.
  EXPECT_NEAR(spread_of(values).half_width,
              2.000 * std::sqrt(squares / 60 / 61), 2e-4);
}

TEST(Spread, OfFewValuesIsNotDefined) {
  EXPECT_TRUE(std::isnan(spread_of({}).mean));
  EXPECT_EQ(spread_of({4}).mean, 4);
  EXPECT_TRUE(std::isnan(spread_of({4}).half_width));
}

const char* const kMetrics =
    R"({"last": {"epoch": 2, "step": 6, "metrics":
         {"medium/map": 0.5, "hard/map": 0.25, "rho": null, "spectrum": [1]}},
        "history": [{"epoch": 1, "step": 3, "metrics": {"hard/map": 0.1}},
                    {"epoch": 2, "step": 6, "metrics": {"hard/map": 0.25}}]})";

TEST(RunResult, IsReadFromTheRunsMetrics) {
  const TempDir folder;
  folder.write("metrics.json", kMetrics);
  StudyRun run;
  run.labels = {"a"};
  run.seed = 4;
  const RunResult result = read_run_result(run, folder.path());
  EXPECT_EQ(result.seed, 4);
  EXPECT_EQ(result.metrics.at("hard/map"), 0.25);
  EXPECT_EQ(result.metrics.at("map"), 0.5);  // of the first part
  EXPECT_EQ(result.metrics.count("rho"), 0u);
  EXPECT_EQ(result.metrics.count("spectrum"), 0u);
  ASSERT_EQ(result.curve.size(), 2u);
  EXPECT_EQ(result.curve[1].step, 6);
  EXPECT_EQ(result.curve[0].metrics.at("hard/map"), 0.1);
}

TEST(RunResult, IsTheTestOfTheNetworkThatValidationChose) {
  const TempDir folder;
  folder.write("metrics.json",
               R"({"protocol": "standard", "split": "validation",
         "last": {"epoch": 2, "step": 6, "metrics": {"map_at_r": 0.5}},
         "best": {"metric": "map_at_r", "value": 0.7, "epoch": 1, "step": 3,
                  "chosen_on": "validation"},
         "test": {"checkpoint": "best", "epoch": 1, "step": 3,
                  "after_step": 6, "split": "test",
                  "metrics": {"map_at_r": 0.25}},
         "history": [{"epoch": 2, "step": 6, "metrics": {"map_at_r": 0.5}}]})");
  const RunResult result = read_run_result({}, folder.path());
  EXPECT_EQ(result.metrics.at("map_at_r"), 0.25);
  EXPECT_EQ(result.split, "test");
  EXPECT_TRUE(result.chosen_on_validation);
  EXPECT_EQ(result.curve.at(0).metrics.at("map_at_r"), 0.5);
}

TEST(RunResult, OfARunWithoutEvaluationsIsEmpty) {
  const TempDir folder;
  folder.write("metrics.json", R"({"last": null, "history": []})");
  EXPECT_THAT(read_run_result({}, folder.path()).metrics, IsEmpty());
}

TEST(RunResult, SaysWhichFileIsBroken) {
  const TempDir folder;
  for (const char* text : {"", "{", "[]", R"({"last": 3})",
                           R"({"last": {"metrics": {}}, "history": [3]})"}) {
    folder.write("metrics.json", text);
    expect_error<DataError>([&] { read_run_result({}, folder.path()); },
                            "metrics.json", "delete the run's folder");
  }
}

TEST(StudyResults, ValuesByCombination) {
  StudyResults results;
  const auto add = [&](const char* label, double value) {
    RunResult run;
    run.labels = {label};
    run.metrics["map"] = value;
    results.runs.push_back(run);
  };
  add("a", 0.1);
  add("b", 0.2);
  add("a", 0.3);
  add("a", NAN);
  EXPECT_THAT(results.values({"a"}, "map"), ElementsAre(0.1, 0.3));
  EXPECT_THAT(results.values({""}, "map"), ElementsAre(0.1, 0.2, 0.3));
  EXPECT_THAT(results.values({"a"}, "nmi"), IsEmpty());
}

TEST(Metrics, AreSharesOrNot) {
  EXPECT_TRUE(metric_is_share("recall_any@1"));
  EXPECT_TRUE(metric_is_share("concatenated/map_at_r"));
  EXPECT_FALSE(metric_is_share("rho"));
}

}  // namespace
}  // namespace kith
