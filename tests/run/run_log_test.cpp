#include "kith/run/run_log.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"

namespace kith {
namespace {

using Curve = std::vector<std::pair<int64_t, double>>;

class RunLogTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.file("log.jsonl"); }
  std::string text() const { return read_file(path(), 1 << 20); }

  static StepRecord record(int64_t step) {
    StepRecord r;
    r.step = step;
    r.loss = 1.0 / static_cast<double>(step);
    r.phases.data = {0.25, int64_t{3} << 20};
    r.phases.loss.seconds = 0.5;
    r.stats = {{"queries", 7}};
    return r;
  }

  void write_steps(int64_t last) const {
    RunLog log(path(), 0);
    for (int64_t step = 1; step <= last; ++step) log.write(record(step));
    log.write({2, last, {{}, "", {{"recall_any@1", 0.5}}}}, "test", 1.5);
  }

  TempDir folder_;
};

TEST_F(RunLogTest, WritesOneObjectALine) {
  write_steps(1);
  const std::string all = text();
  const size_t end = all.find('\n');
  const auto step = nlohmann::json::parse(all.substr(0, end));
  EXPECT_EQ(all.rfind("{\"kind\":\"step\"", 0), 0u) << all;
  EXPECT_EQ(step.at("step"), 1);
  EXPECT_EQ(step.at("loss"), 1.0);
  EXPECT_EQ(step.at("queries"), 7);
  EXPECT_EQ(step.at("seconds").at("data"), 0.25);
  EXPECT_EQ(step.at("seconds").at("total"), 0.75);
  EXPECT_EQ(step.at("peak_mb").at("data"), 3);
  const auto eval = nlohmann::json::parse(all.substr(end + 1));
  EXPECT_EQ(eval.at("kind"), "eval");
  EXPECT_EQ(eval.at("epoch"), 2);
  EXPECT_EQ(eval.at("step"), 1);
  EXPECT_EQ(eval.at("metrics").at("metrics").at("recall_any@1"), 0.5);
  EXPECT_EQ(eval.at("seconds"), 1.5);
}

TEST_F(RunLogTest, LinesAreInTheFileAtOnce) {
  RunLog log(path(), 0);
  log.write(record(1));
  EXPECT_EQ(loss_curve(path()), (Curve{{1, 1.0}}));
}

TEST_F(RunLogTest, RemovesStepsBeyondTheCheckpoint) {
  write_steps(4);
  { RunLog log(path(), 2); }
  EXPECT_EQ(loss_curve(path()), (Curve{{1, 1.0}, {2, 0.5}}));
  EXPECT_EQ(text().find("eval"), std::string::npos);
  RunLog log(path(), 2);
  log.write(record(3));
  EXPECT_EQ(loss_curve(path()).size(), 3u);
}

TEST_F(RunLogTest, KeepsTheEvaluationOfTheLastStep) {
  write_steps(4);
  const std::string before = text();
  { RunLog log(path(), 4); }
  EXPECT_EQ(text(), before);
}

TEST_F(RunLogTest, RemovesALineThatWasCutOff) {
  write_steps(3);
  const std::string whole = text();
  const size_t second = whole.find('\n') + 1;
  const size_t third = whole.find('\n', second) + 1;
  for (size_t size = second; size < third; size += 7) {
    folder_.write("log.jsonl", whole.substr(0, size));
    { RunLog log(path(), 100); }
    EXPECT_EQ(loss_curve(path()), (Curve{{1, 1.0}})) << size;
  }
}

TEST_F(RunLogTest, ANewRunStartsEmpty) {
  write_steps(3);
  { RunLog log(path(), 0); }
  EXPECT_EQ(text(), "");
}

TEST_F(RunLogTest, AnEvaluationBeforeTrainingIsKeptIfItsCheckpointWas) {
  { RunLog(path(), -1).write(RunPoint(), "test", 1); }
  const std::string before = text();
  EXPECT_NE(before, "");
  { RunLog log(path(), 0); }
  EXPECT_EQ(text(), before);
  { RunLog log(path(), -1); }
  EXPECT_EQ(text(), "");
}

TEST_F(RunLogTest, ReadingNamesTheBadLine) {
  write_steps(1);
  folder_.write("log.jsonl", text() + "nonsense\n");
  expect_error<DataError>([&] { loss_curve(path()); }, "log.jsonl:3");
  expect_error<DataError>([&] { loss_curve(folder_.file("none")); }, "none");
}

TEST_F(RunLogTest, AFolderThatIsNotThereIsAnError) {
  expect_error<RunError>(
      [&] { RunLog log(folder_.file("missing/log.jsonl"), 0); },
      "missing/log.jsonl");
}

}  // namespace
}  // namespace kith
