#include "kith/train/schedules.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace kith {

void ConstantScheduleOptions::describe(OptionSet& set) {
  describe_warm_up(set, warmup_epochs);
}

ConstantSchedule::ConstantSchedule(Options options)
    : options_(checked(std::move(options), "constant")) {}

double ConstantSchedule::factor(double epoch, double) const {
  return warm_up_factor(options_.warmup_epochs, epoch);
}

void CosineScheduleOptions::describe(OptionSet& set) {
  describe_warm_up(set, warmup_epochs);
  set.add("final_factor", final_factor, "Factor at the end of training.")
      .range(0, 1);
}

CosineSchedule::CosineSchedule(Options options)
    : options_(checked(std::move(options), "cosine")) {}

double CosineSchedule::factor(double epoch, double epochs) const {
  const double wave = (1 + std::cos(std::numbers::pi * epoch / epochs)) / 2;
  return warm_up_factor(options_.warmup_epochs, epoch) *
         (options_.final_factor + (1 - options_.final_factor) * wave);
}

void StepScheduleOptions::describe(OptionSet& set) {
  describe_warm_up(set, warmup_epochs);
  set.add("milestones", milestones,
          "Epochs at whose start the rate is multiplied by gamma.")
      .range(0);
  set.add("gamma", gamma, "Factor at each milestone.").positive();
}

StepSchedule::StepSchedule(Options options)
    : options_(checked(std::move(options), "step")) {}

double StepSchedule::factor(double epoch, double) const {
  double passed = 0;
  for (double milestone : options_.milestones) passed += epoch >= milestone;
  return warm_up_factor(options_.warmup_epochs, epoch) *
         std::pow(options_.gamma, passed);
}

KITH_REGISTER(schedule_registry(), "constant", ConstantSchedule);
KITH_REGISTER(schedule_registry(), "cosine", CosineSchedule);
KITH_REGISTER(schedule_registry(), "step", StepSchedule);

}  // namespace kith
