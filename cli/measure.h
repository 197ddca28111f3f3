#pragma once

#include <functional>
#include <optional>

#include <c10/core/Device.h>

namespace kith {

/// Wall-clock milliseconds of a piece of work.
struct Timing {
  double median = 0.0;
  double min = 0.0;
  int repeats = 0;
};

/// Milliseconds of a call of `run` alone: the device is idle before it and has
/// finished at its end.
double time_once(const std::function<void()>& run, c10::Device device);

/// Times calls one by one: at least 3 and `seconds` in all, at most 100.
/// Warming up is the caller's.
Timing time_runs(const std::function<void()>& run, c10::Device device,
                 double seconds);

/// The most memory in use on a device beyond what was in use at construction.
///
/// On a GPU it is what tensors take, from LibTorch's allocator. On the CPU it
/// is resident memory, whose high-water mark Linux keeps and resets on demand;
/// free memory is given back to the system first, or work would reuse it
/// unseen. The mark counts pages and is kept by thread: expect an error of up
/// to a megabyte.
class PeakMemory {
 public:
  explicit PeakMemory(c10::Device device);

  /// In MB of 2^20 bytes; nothing where the system does not tell.
  std::optional<double> extra_mb() const;

 private:
  c10::Device device_;
  std::optional<int64_t> before_;  ///< bytes
};

}  // namespace kith
