#include "kith/ops/fused_way.h"

#include <utility>

#include "kith/ops/conv_kernels.h"
#include "kith/ops/is_recorded.h"

namespace kith {
namespace {

thread_local bool fused_on_cpu = false;
thread_local bool layers_alone = false;

}  // namespace

FusedOnCpu::FusedOnCpu() : before_(std::exchange(fused_on_cpu, true)) {}
FusedOnCpu::~FusedOnCpu() { fused_on_cpu = before_; }

LayersAlone::LayersAlone() : before_(std::exchange(layers_alone, true)) {}
LayersAlone::~LayersAlone() { layers_alone = before_; }

bool takes_own_kernels(const Tensor& x) {
  return !is_recorded() && !layers_alone && (x.is_cuda() || fused_on_cpu);
}

bool takes_fused_way(const Tensor& x) {
  if (!takes_own_kernels(x)) return false;
  if (!x.is_cuda()) return true;
  return fused_type(x) == at::kBFloat16 &&
         cuda_conv_kernels<Bf16>().bias_act != nullptr;
}

void refuse_second_derivative(const char* what) {
  TORCH_CHECK(!at::GradMode::is_enabled(), "[", what,
              "] has no second derivative: compute it in float32 "
              "(model.precision)");
}

at::ScalarType fused_type(const Tensor& x) {
  const bool is_low =
      x.is_cuda() && x.scalar_type() == at::kFloat && Autocast::is_bfloat16();
  return is_low ? at::kBFloat16 : x.scalar_type();
}

at::ScalarType sum_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace kith
