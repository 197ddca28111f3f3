#include <cmath>
#include <memory>
#include <string>
#include <utility>

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

// exp(-0.01 epoch), the rate of the published code at a start of 1.
TEST(ExponentialSchedule, HasItsClosedForm) {
  const ExponentialSchedule schedule({.gamma = std::exp(-0.01)});
  for (const auto& [epoch, rate] : {std::pair{0, 1.0},
                                    {1, 0.9900498337491681},
                                    {2, 0.9801986733067553},
                                    {50, 0.6065306597126334},
                                    {99, 0.37157669102204566}}) {
    EXPECT_NEAR(schedule.factor(epoch, 100), rate, 1e-14);
    // The same within an epoch.
    EXPECT_EQ(schedule.factor(epoch + 0.99, 100), schedule.factor(epoch, 100));
  }
}

TEST(ExponentialSchedule, FallsAsOftenAsIsSaid) {
  const ExponentialSchedule schedule({.gamma = 0.5, .every = 2.5});
  EXPECT_EQ(schedule.factor(2.4, 10), 1);
  EXPECT_EQ(schedule.factor(2.5, 10), 0.5);
  EXPECT_EQ(schedule.factor(7.6, 10), 0.125);
  EXPECT_DOUBLE_EQ(ExponentialSchedule().factor(3, 10), 0.99 * 0.99 * 0.99);
  const ExponentialSchedule warm({.warmup_epochs = 4, .gamma = 0.5});
  EXPECT_DOUBLE_EQ(warm.factor(2, 10), 0.5 * 0.25);
  expect_error<ConfigError>([] { ExponentialSchedule({.gamma = 0}); },
                            "exponential.gamma", "greater than 0");
  expect_error<ConfigError>([] { ExponentialSchedule({.every = 0}); },
                            "exponential.every");
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

// The numbers of PyTorch 1.13's CosineAnnealingWarmRestarts(T_0=3,
// eta_min=0.01) at a rate of 1.
TEST(WarmRestartsSchedule, IsThatOfPyTorch) {
  struct Rate {
    double epoch, same, doubled;
  };
  const WarmRestartsSchedule same({.first_epochs = 3, .final_factor = 0.01});
  const WarmRestartsSchedule doubled(
      {.first_epochs = 3, .growth = 2, .final_factor = 0.01});
  for (const Rate& rate :
       {Rate{0, 1, 1}, Rate{0.5, 0.9336825748732972, 0.9336825748732972},
        Rate{2.75, 0.02686671598691124, 0.02686671598691124}, Rate{3, 1, 1},
        Rate{4.5, 0.505, 0.855017856687341}, Rate{6, 1, 0.505},
        Rate{8.5, 0.07631742512670284, 0.02686671598691124}, Rate{9, 1, 1},
        Rate{13, 0.7525, 0.7525},
        Rate{20.5, 0.07631742512670284, 0.01423479361996386}}) {
    EXPECT_NEAR(same.factor(rate.epoch, 30), rate.same, 1e-14);
    EXPECT_NEAR(doubled.factor(rate.epoch, 30), rate.doubled, 1e-14);
  }
  expect_error<ConfigError>([] { WarmRestartsSchedule({.first_epochs = 0}); },
                            "warm_restarts.first_epochs", "greater than 0");
  expect_error<ConfigError>([] { WarmRestartsSchedule({.growth = 0.5}); },
                            "warm_restarts.growth");
}

// The numbers of PyTorch 1.13's OneCycleLR at max_lr 1, with 101 steps that
// rise for 30.
TEST(OneCycleSchedule, IsThatOfPyTorch) {
  const OneCycleSchedule schedule;
  for (const auto& [step, rate] : {std::pair{0, 0.04},
                                   {1, 0.042629490223228816},
                                   {15, 0.52},
                                   {29, 0.9973705097767712},
                                   {30, 1.0},
                                   {31, 0.9994965352845243},
                                   {60, 0.6112620219362893},
                                   {99, 0.0005074647154757879},
                                   {100, 4e-6}}) {
    EXPECT_NEAR(schedule.factor(step, 100), rate, 1e-14) << step;
  }
  // All of training rises, or none of it.
  const OneCycleSchedule rising({.rise = 1});
  EXPECT_NEAR(rising.factor(5, 10), 0.52, 1e-14);
  EXPECT_NEAR(rising.factor(10, 10), 1, 1e-14);
  const OneCycleSchedule falling({.rise = 0});
  EXPECT_NEAR(falling.factor(0, 10), 1, 1e-14);
  EXPECT_NEAR(falling.factor(5, 10), (1 + 4e-6) / 2, 1e-14);
  expect_error<ConfigError>([] { OneCycleSchedule({.rise = 2}); },
                            "one_cycle.rise", "[0, 1]");
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
