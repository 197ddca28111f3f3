#include "kith/ops/optimizer_kernels.h"

namespace kith {

void adam_step(const AdamScalars& s, const float* __restrict gradient,
               float* __restrict mean, float* __restrict square,
               float* __restrict parameter, int64_t count) {
  const AdamScalars c = s;
  for (int64_t i = 0; i < count; ++i) {
    step_number(c, gradient[i], mean[i], square[i], parameter[i]);
  }
}

void sgd_step(const SgdScalars& s, const float* __restrict gradient,
              float* __restrict velocity, float* __restrict parameter,
              int64_t count) {
  const SgdScalars c = s;
  for (int64_t i = 0; i < count; ++i) {
    step_number(c, gradient[i], velocity[i], parameter[i]);
  }
}

}  // namespace kith
