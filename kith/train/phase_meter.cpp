#include "kith/train/phase_meter.h"

#include <torch/torch.h>

#include "kith/core/memory.h"
#include "kith/ops/gpu.h"

namespace kith {

PhaseMeter::PhaseMeter(c10::Device device) : device_(device) {
  if (device_.is_cuda()) reset_gpu_peak(device_.index());
}

Phase PhaseMeter::lap() {
  Phase phase;
  if (device_.is_cuda()) {
    torch::cuda::synchronize(device_.index());
    phase.peak_bytes = gpu_peak_bytes(device_.index());
    reset_gpu_peak(device_.index());
  } else {
    phase.peak_bytes = peak_resident_bytes().value_or(0);
  }
  phase.seconds = timer_.lap();
  return phase;
}

}  // namespace kith
