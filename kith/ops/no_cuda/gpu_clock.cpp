#include "kith/ops/gpu_clock.h"

#include "kith/core/error.h"

namespace kith {

struct GpuClock::Events {};
GpuClock::GpuClock(c10::Device) { KITH_ASSERT(false); }
GpuClock::~GpuClock() = default;
void GpuClock::mark() {}
std::vector<double> GpuClock::seconds() const { return {}; }

}  // namespace kith
