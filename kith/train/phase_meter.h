#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "kith/core/timer.h"

namespace kith {

/// What a phase of a step took.
struct Phase {
  double seconds = 0;
  /// The most memory in use during the phase: of tensors on a GPU; on the CPU
  /// of the process since its start.
  int64_t peak_bytes = 0;
};

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
