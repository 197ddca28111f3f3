#pragma once

#include <memory>
#include <vector>

#include <c10/core/Device.h>

namespace kith {

/// Times work on a GPU without waiting for it. Not for a CPU.
class GpuClock {
 public:
  /// Begins when the GPU comes to what is started from now on.
  explicit GpuClock(c10::Device device);
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  /// Marks the moment when all is done that was started before.
  void mark();

  /// Waits for the last mark. Seconds up to each mark from the one before, the
  /// first from the beginning.
  std::vector<double> seconds() const;

 private:
  struct Events;
  std::unique_ptr<Events> events_;
};

}  // namespace kith
