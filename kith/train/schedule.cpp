#include "kith/train/schedule.h"

#include <algorithm>

namespace kith {

void describe_warm_up(OptionSet& set, double& warmup_epochs) {
  set.add("warmup_epochs", warmup_epochs,
          "The rate rises linearly over this many epochs (fractions allowed).")
      .range(0);
}

double warm_up_factor(double warmup_epochs, double epoch) {
  // Starts at 1% so that the first step is not lost.
  return warmup_epochs <= 0
             ? 1.0
             : std::min(1.0, std::max(epoch / warmup_epochs, 0.01));
}

ScheduleRegistry& schedule_registry() {
  static ScheduleRegistry registry("schedule");
  return registry;
}

}  // namespace kith
