#include "kith/ops/gpu.h"

namespace kith {

void* current_stream() { return nullptr; }

ProductPrecision::ProductPrecision(bool) : before_(false) {}
ProductPrecision::~ProductPrecision() = default;

int64_t gpu_peak_bytes(int) { return 0; }
void reset_gpu_peak(int) {}

GpuMemory gpu_memory(int) { return {}; }
void release_gpu_cache() {}

TunedConvolutions::TunedConvolutions(int64_t) : before_(false) {}
TunedConvolutions::~TunedConvolutions() = default;

bool has_bf16_products(int) { return false; }

std::string gpu_name(int) { return ""; }

}  // namespace kith
