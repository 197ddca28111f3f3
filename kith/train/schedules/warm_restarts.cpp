#include <cmath>
#include <numbers>
#include <utility>

#include "kith/train/schedules.h"

namespace kith {

void WarmRestartsScheduleOptions::describe(OptionSet& set) {
  describe_warm_up(set, warmup_epochs);
  set.add("first_epochs", first_epochs,
          "Epochs until the rate first starts anew (fractions allowed).")
      .positive();
  set.add("growth", growth, "Each stretch is this many times the one before.")
      .range(1, 100);
  set.add("final_factor", final_factor, "Factor at the end of each stretch.")
      .range(0, 1);
}

WarmRestartsSchedule::WarmRestartsSchedule(Options options)
    : options_(checked(std::move(options), "warm_restarts")) {}

double WarmRestartsSchedule::factor(double epoch, double) const {
  double length = options_.first_epochs;
  double done = epoch;
  if (options_.growth == 1.0) {
    done = std::fmod(epoch, length);
  } else {
    while (done >= length) {
      done -= length;
      length *= options_.growth;
    }
  }
  const double wave = (1 + std::cos(std::numbers::pi * done / length)) / 2;
  return warm_up_factor(options_.warmup_epochs, epoch) *
         (options_.final_factor + (1 - options_.final_factor) * wave);
}

KITH_REGISTER(schedule_registry(), "warm_restarts", WarmRestartsSchedule);

}  // namespace kith
