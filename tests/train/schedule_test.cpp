#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/train/schedules.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

std::unique_ptr<Schedule> make_schedule(const std::string& yaml) {
  return schedule_registry().make(parse_config(yaml, "test"), "schedule");
}

TEST(ConstantSchedule, Stays) {
  const ConstantSchedule schedule;
  for (const double epoch : {0., 0.5, 9.99}) {
    EXPECT_EQ(schedule.factor(epoch, 10), 1);
  }
}

TEST(StepSchedule, MultipliesAtTheStartOfEachMilestone) {
  const StepSchedule schedule({.milestones = {10, 20}, .gamma = 0.1});
  EXPECT_EQ(schedule.factor(0, 30), 1);
  EXPECT_EQ(schedule.factor(9.999, 30), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(10, 30), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(19.5, 30), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(20, 30), 0.01);
  EXPECT_DOUBLE_EQ(StepSchedule({.milestones = {1}}).factor(2, 30), 0.3);
  EXPECT_EQ(StepSchedule().factor(25, 30), 1);
  expect_error<ConfigError>([] { StepSchedule({.gamma = 0}); }, "step.gamma");
}

TEST(CosineSchedule, FallsFromOneToTheFinalFactor) {
  const CosineSchedule schedule;
  EXPECT_DOUBLE_EQ(schedule.factor(0, 8), 1);
  EXPECT_NEAR(schedule.factor(2, 8), (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_NEAR(schedule.factor(4, 8), 0.5, 1e-15);
  EXPECT_NEAR(schedule.factor(8, 8), 0, 1e-15);
  const CosineSchedule floor({.final_factor = 0.2});
  EXPECT_NEAR(floor.factor(4, 8), 0.6, 1e-15);
  EXPECT_NEAR(floor.factor(8, 8), 0.2, 1e-15);
}

class EverySchedule : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySchedule, WarmsUpInAStraightLineFromOnePercent) {
  const auto plain = make_schedule("{name: " + GetParam() + "}");
  const auto warm =
      make_schedule("{name: " + GetParam() + ", warmup_epochs: 2}");
  const auto ratio = [&](double epoch) {
    return warm->factor(epoch, 10) / plain->factor(epoch, 10);
  };
  EXPECT_DOUBLE_EQ(ratio(0), 0.01);
  EXPECT_DOUBLE_EQ(ratio(0.5), 0.25);
  EXPECT_DOUBLE_EQ(ratio(1), 0.5);
  EXPECT_DOUBLE_EQ(ratio(2), 1);
  EXPECT_DOUBLE_EQ(ratio(7), 1);
}

TEST_P(EverySchedule, RefusesANegativeWarmUp) {
  expect_error<ConfigError>(
      [] { make_schedule("{name: " + GetParam() + ", warmup_epochs: -1}"); },
      "schedule.warmup_epochs");
}

INSTANTIATE_TEST_SUITE_P(All, EverySchedule,
                         ::testing::ValuesIn(schedule_registry().names()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
