#include "kith/train/gradient_watch.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/progress.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StepRecord step(double grad_norm) {
  StepRecord record;
  record.grad_norm = grad_norm;
  record.loss = 0.25;
  record.stats = {{"queries_without_positives", 16}};
  return record;
}

TEST(GradientWatch, StopsARunThatNeverHadAGradient) {
  GradientWatch watch;
  watch.add(step(0));
  watch.add(step(0));
  expect_error<RunError>([&] { watch.end_epoch(0); },
                         "epoch 1:", "exactly zero in all 2 steps", "loss 0.25",
                         "queries_without_positives 16", "nothing is learnt",
                         "sampler.per_class", "miner");
}

TEST(GradientWatch, OneGradientInAnEpochIsEnough) {
  const LogCapture log;
  GradientWatch watch;
  for (const double norm : {0.0, 1e-30, 0.0}) watch.add(step(norm));
  watch.end_epoch(0);
  EXPECT_THAT(log.warnings(), IsEmpty());
}

// As with a margin that all tuples keep: the network is what was asked for.
TEST(GradientWatch, SaysThatNothingIsLearntAnyMore) {
  const LogCapture log;
  GradientWatch watch;
  watch.add(step(1));
  watch.end_epoch(0);
  watch.add(step(0));
  watch.end_epoch(1);
  EXPECT_THAT(log.warnings(),
              ElementsAre(AllOf(HasSubstr("epoch 2:"), HasSubstr("all 1 steps"),
                                HasSubstr("nothing to teach"))));
}

TEST(GradientWatch, ARunThatIsResumedHasLearnt) {
  const LogCapture log;
  GradientWatch watch;
  watch.resume();
  watch.add(step(0));
  watch.end_epoch(4);
  EXPECT_THAT(log.warnings(), ElementsAre(HasSubstr("epoch 5:")));
}

TEST(GradientWatch, AnEpochWithoutStepsIsNone) { GradientWatch().end_epoch(0); }

void train(const std::vector<std::string>& changes) {
  const TempDir dir;
  const RunConfig config = tiny_config(changes);
  const auto data = make_data_set(config.section("data"));
  Trainer(config, *data, dir.path(), c10::kCPU, silent_progress()).run();
}

// One image of each class: no batch has a positive.
TEST(GradientWatch, StopsATrainingWithoutPositives) {
  expect_error<RunError>(
      [] {
        train({"data.classes=96", "data.per_class=1", "eval.split=none",
               "sampler={name: uniform, batch: 16}"});
      },
      "epoch 1:", "exactly zero in all 3 steps", "queries_without_positives");
}

// No triplet is within a margin of zero: the miner finds no tuples.
TEST(GradientWatch, StopsATrainingWithoutTuples) {
  std::vector<std::string> idle = {
      "loss={name: triplet}",
      "miner={name: triplet_margin, kind: hard, margin: -10}"};
  expect_error<RunError>([&] { train(idle); },
                         "epoch 1:", "exactly zero in all 3 steps", "tuples 0");
  idle.emplace_back("train.steps=2");
  expect_error<RunError>([&] { train(idle); }, "all 2 steps");
}

}  // namespace
}  // namespace kith
