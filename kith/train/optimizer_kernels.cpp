#include "kith/train/optimizer_kernels.h"

#include <cmath>

namespace kith {

void adam_step(const AdamScalars& s, const float* __restrict gradient,
               float* __restrict mean, float* __restrict square,
               float* __restrict parameter, int64_t count) {
  const AdamScalars c = s;
  for (int64_t i = 0; i < count; ++i) {
    const float p = parameter[i] * c.keep;
    const float g = gradient[i] + c.decay * p;
    const float m = c.beta1 * mean[i] + c.gain1 * g;
    const float v = c.beta2 * square[i] + c.gain2 * (g * g);
    mean[i] = m;
    square[i] = v;
    parameter[i] = p - c.step * m / (std::sqrt(v) * c.root + c.eps);
  }
}

void sgd_step(const SgdScalars& s, const float* __restrict gradient,
              float* __restrict velocity, float* __restrict parameter,
              int64_t count) {
  const SgdScalars c = s;
  const float ahead = c.nesterov ? c.momentum : 1;
  const float own = c.nesterov ? 1 : 0;
  for (int64_t i = 0; i < count; ++i) {
    const float p = parameter[i];
    const float g = gradient[i] + c.decay * p;
    const float v = c.momentum * velocity[i] + g;
    velocity[i] = v;
    parameter[i] = p - c.lr * (own * g + ahead * v);
  }
}

}  // namespace kith
