#include "cli/measure.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include <torch/torch.h>

#include "kith/core/memory.h"
#include "kith/core/timer.h"
#include "kith/ops/gpu.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace kith {
namespace {

void wait_for(c10::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

/// Sets the high-water mark of resident memory to what is resident now, and
/// returns it; nothing if this system cannot.
std::optional<int64_t> reset_resident_peak() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
  const std::optional<int64_t> peak = peak_resident_bytes();
  const std::optional<int64_t> now = resident_bytes();
  // A mark that stayed where it was would hide what comes.
  constexpr int64_t kSlack = 1 << 20;
  if (!peak || !now || *peak > *now + kSlack) return std::nullopt;
  return peak;
}

}  // namespace

double time_once(const std::function<void()>& run, c10::Device device) {
  wait_for(device);
  const Timer timer;
  run();
  wait_for(device);
  return 1e3 * timer.seconds();
}

Timing time_runs(const std::function<void()>& run, c10::Device device,
                 double seconds) {
  constexpr size_t kFewest = 3, kMost = 100;
  std::vector<double> times;
  const Timer all;
  while (times.size() < kFewest ||
         (times.size() < kMost && all.seconds() < seconds)) {
    times.push_back(time_once(run, device));
  }
  return {median(times), *std::min_element(times.begin(), times.end()),
          static_cast<int>(times.size())};
}

PeakMemory::PeakMemory(c10::Device device) : device_(device) {
  if (device.is_cuda()) {
    reset_gpu_peak(device.index());
    const int64_t bytes = gpu_peak_bytes(device.index());
    if (bytes > 0) before_ = bytes;
  } else {
    before_ = reset_resident_peak();
  }
}

std::optional<double> PeakMemory::extra_mb() const {
  const std::optional<int64_t> peak = device_.is_cuda()
                                          ? gpu_peak_bytes(device_.index())
                                          : peak_resident_bytes();
  if (!before_ || !peak) return std::nullopt;
  return static_cast<double>(*peak - *before_) / (1 << 20);
}

}  // namespace kith
