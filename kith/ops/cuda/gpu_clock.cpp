#include "kith/ops/gpu_clock.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

namespace kith {

struct GpuClock::Events {
  c10::DeviceIndex device;
  std::vector<at::cuda::CUDAEvent> marks;
};

GpuClock::GpuClock(c10::Device device)
    : events_(std::make_unique<Events>(Events{device.index(), {}})) {
  mark();
}

GpuClock::~GpuClock() = default;

void GpuClock::mark() {
  events_->marks.emplace_back(cudaEventDefault);  // one that knows its time
  events_->marks.back().record(
      c10::cuda::getCurrentCUDAStream(events_->device));
}

std::vector<double> GpuClock::seconds() const {
  constexpr double kMillisecond = 1e-3;
  std::vector<at::cuda::CUDAEvent>& marks = events_->marks;
  marks.back().synchronize();
  std::vector<double> all;
  for (size_t i = 1; i < marks.size(); ++i) {
    all.push_back(marks[i - 1].elapsed_time(marks[i]) * kMillisecond);
  }
  return all;
}

}  // namespace kith
