#include "kith/ops/optimizer_kernels.h"

namespace kith {

const GpuSteps gpu_steps = {};

}  // namespace kith
