#include <cmath>
#include <numbers>
#include <utility>

#include "kith/train/schedules.h"

namespace kith {

void OneCycleScheduleOptions::describe(OptionSet& set) {
  describe_warm_up(set, warmup_epochs);
  set.add("rise", rise, "Share of training in which the rate rises.")
      .range(0, 1);
  set.add("start_factor", start_factor, "Factor at the start of training.")
      .range(0, 1);
  set.add("final_factor", final_factor, "Factor at the end of training.")
      .range(0, 1);
}

OneCycleSchedule::OneCycleSchedule(Options options)
    : options_(checked(std::move(options), "one_cycle")) {}

double OneCycleSchedule::factor(double epoch, double epochs) const {
  const double peak = options_.rise * epochs;
  const bool is_rising = epoch < peak;
  const double from = is_rising ? options_.start_factor : options_.final_factor;
  // 0 at the start and the end of training, 1 at the peak.
  const double way = is_rising || peak == epochs
                         ? epoch / peak
                         : (epochs - epoch) / (epochs - peak);
  return warm_up_factor(options_.warmup_epochs, epoch) *
         (from + (1 - from) * (1 - std::cos(std::numbers::pi * way)) / 2);
}

KITH_REGISTER(schedule_registry(), "one_cycle", OneCycleSchedule);

}  // namespace kith
