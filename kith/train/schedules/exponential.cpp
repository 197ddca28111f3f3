#include <cmath>
#include <utility>

#include "kith/train/schedules.h"

namespace kith {

void ExponentialScheduleOptions::describe(OptionSet& set) {
  describe_warm_up(set, warmup_epochs);
  set.add("gamma", gamma, "Factor each time.").positive();
  set.add("every", every,
          "Epochs from one time to the next (fractions allowed).")
      .positive();
}

ExponentialSchedule::ExponentialSchedule(Options options)
    : options_(checked(std::move(options), "exponential")) {}

double ExponentialSchedule::factor(double epoch, double) const {
  return warm_up_factor(options_.warmup_epochs, epoch) *
         std::pow(options_.gamma, std::floor(epoch / options_.every));
}

KITH_REGISTER(schedule_registry(), "exponential", ExponentialSchedule);

}  // namespace kith
