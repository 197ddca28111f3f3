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

/// Part of every schedule's options: the rate rises from near zero in a
/// straight line over the first epochs.
struct WarmUp {
  double warmup_epochs = 0.0;

  void describe(OptionSet& set);
  double factor(double epoch) const;
};

using ScheduleRegistry = Registry<Schedule>;
ScheduleRegistry& schedule_registry();

}  // namespace kith
