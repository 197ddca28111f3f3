// A sweep with a program of the test's own in the place of kith.
#include "kith/study/sweep.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunSweep : public ::testing::Test {
 protected:
  RunSweep() {
    study_ = load_study(folder_.write(
        "s.yaml",
        "data: {name: glyphs, classes: 8, per_class: 4}\n"
        "eval: {metrics: [recall_any@1]}\n"
        "study:\n  axes: [{name: t1, key: loss.t1, values: [1, 2, 3]}]\n"));
    options_.out = folder_.file("out");
  }

  /// A program that finishes a run: $2 is its configuration, $4 its folder.
  /// `before` is done first.
  std::vector<std::string> run(const std::string& before = "") {
    options_.program = {
        "/bin/sh",
        folder_.write(
            "program",
            before + "\necho $* >> " + folder_.file("calls") +
                "\necho '{\"last\": {\"metrics\": {\"recall_any@1\": 0.5}}, "
                "\"history\": []}' > $4/metrics.json\n")};
    return run_sweep(study_, study_runs(study_), options_, silent_progress());
  }

  std::string text(const std::string& name) const {
    return read_file(folder_.file(name), 1 << 20);
  }

  const TempDir folder_;
  Study study_;
  SweepOptions options_;
};

TEST_F(RunSweep, StartsEveryTrainingOnceWithItsConfiguration) {
  options_.arguments = {"--threads", "1"};
  EXPECT_THAT(run(), IsEmpty());
  const std::string out = options_.out;
  const auto call = [&](const std::string& label) {
    const std::string place = out + "/" + label + "/seed-0";
    return "train " + place + "/study_config.yaml --out " + place +
           " --resume --threads 1\n";
  };
  EXPECT_EQ(text("calls"), call("1") + call("2") + call("3"));
  EXPECT_NE(text("out/2/seed-0/study_config.yaml").find("t1: 2"),
            std::string::npos);
  EXPECT_NE(text("out/table.md").find("| 3 | 1 | 50.00 |"), std::string::npos);
  EXPECT_THAT(run(), IsEmpty());  // nothing is left to do
  EXPECT_EQ(text("calls"), call("1") + call("2") + call("3"));
}

TEST_F(RunSweep, RunsAsManyAtATimeAsItIsTold) {
  options_.jobs = 2;
  // Both wait for each other; the third is alone.
  EXPECT_THAT(run("touch " + folder_.file("here-$$") +
                  "\ncase $4 in */3/*) ;; "
                  "*) until test $(ls " +
                  folder_.path() +
                  " | grep -c here-) -ge 2; do sleep 0.01; done;; esac"),
              IsEmpty());
}

TEST_F(RunSweep, JobsHaveGpusOfTheirOwn) {
  options_.jobs = 2;
  options_.gpus = {"4,5", "6,7"};
  options_.ranks = 2;
  // The first two wait for each other, the third comes when one has ended.
  EXPECT_THAT(run("echo $CUDA_VISIBLE_DEVICES > " + folder_.file("gpus-") +
                  "$(basename $(dirname $4))\n"
                  "case $4 in */3/*) exit 0;; esac\n"
                  "until test -e " +
                  folder_.file("gpus-1") + " -a -e " + folder_.file("gpus-2") +
                  "; do sleep 0.01; done\n"
                  "case $4 in */1/*) until test -e " +
                  folder_.file("gpus-3") + "; do sleep 0.01; done;; esac"),
              ElementsAre("3/seed-0"));
  EXPECT_EQ(text("gpus-1"), "4,5\n");
  EXPECT_EQ(text("gpus-2"), "6,7\n");
  EXPECT_EQ(text("gpus-3"), "6,7\n") << "those of the second, which has ended";
  EXPECT_NE(text("calls").find("--resume --ranks 2\n"), std::string::npos);
}

TEST_F(RunSweep, AFailureIsToldWithTheEndOfItsLog) {
  const LogCapture log;
  EXPECT_THAT(run("case $4 in */2/*) echo no memory left; exit 1;; esac"),
              ElementsAre("2/seed-0"));
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_NE(log.warnings()[0].find("2/seed-0 failed (exit status 1)"),
            std::string::npos);
  EXPECT_NE(text("out/table.md").find("| 2 | 0 | - |"), std::string::npos);
  EXPECT_NE(text("out/table.md").find("| 3 | 1 | 50.00 |"), std::string::npos);
  EXPECT_THAT(run(), IsEmpty());  // it is tried again
}

TEST_F(RunSweep, ATrainingThatLeavesNoMetricsHasFailed) {
  EXPECT_THAT(run("exit 0"), ElementsAre("1/seed-0", "2/seed-0", "3/seed-0"));
}

TEST_F(RunSweep, ASignalStopsItAndItGoesOn) {
  expect_error<RunError>(
      [&] {
        run("case $4 in */2/*) kill -TERM $KITH_PARENT; exec sleep 60;; esac");
      },
      "stopped", "1 of 3 are done");
  EXPECT_FALSE(std::filesystem::exists(options_.out + "/3"));
  EXPECT_THAT(run(), IsEmpty());
}

}  // namespace
}  // namespace kith
