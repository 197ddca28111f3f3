#pragma once

#include "kith/core/registry.h"

namespace kith {

/// How the learning rate changes over training: a factor on the optimiser's.
class Schedule {
 public:
  virtual ~Schedule() = default;

  /// `epoch` is fractional (2.5: half of the third epoch is done), in
  /// [0, epochs).
  virtual double factor(double epoch, double epochs) const = 0;
};

/// Part of every schedule: the rate rises from near zero in a straight line
/// over the first epochs. Describes its option, for the schedule's own
/// describe(); and the factor.
void describe_warm_up(OptionSet& set, double& warmup_epochs);
double warm_up_factor(double warmup_epochs, double epoch);

using ScheduleRegistry = Registry<Schedule>;
ScheduleRegistry& schedule_registry();

}  // namespace kith
