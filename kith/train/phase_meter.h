#pragma once

#include <c10/core/Device.h>

#include "kith/core/timer.h"
#include "kith/run/run_log.h"

namespace kith {

/// Measures the phases of a step one after another.
class PhaseMeter {
 public:
  explicit PhaseMeter(c10::Device device);

  /// Waits for the device and returns the phase since the last lap.
  Phase lap();

 private:
  c10::Device device_;
  Timer timer_;
};

}  // namespace kith
