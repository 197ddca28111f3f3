#include "kith/ops/fused_way.h"

#include <utility>

namespace kith {
namespace {

thread_local bool fused_on_cpu = false;

}  // namespace

FusedOnCpu::FusedOnCpu() : before_(std::exchange(fused_on_cpu, true)) {}
FusedOnCpu::~FusedOnCpu() { fused_on_cpu = before_; }

bool takes_fused_way(const Tensor& x) {
  return x.is_cuda() ? fused_type(x) == at::kBFloat16 : fused_on_cpu;
}

at::ScalarType fused_type(const Tensor& x) {
  const bool low = x.is_cuda() && Autocast::is_enabled();
  return low ? at::kBFloat16 : x.scalar_type();
}

at::ScalarType sum_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace kith
