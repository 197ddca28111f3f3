#pragma once

#include <cstdint>

namespace kith {

// Steps of the optimisers on float32 numbers on the CPU, which are bound by
// memory: each reads and writes every number once, where operations of LibTorch
// would go over them eight times. The same bits on every processor.

/// Scalars of a step of Adam or AdamW, computed in double.
struct AdamScalars {
  float keep = 1;   ///< What decoupled weight decay leaves of a parameter.
  float decay = 0;  ///< Share of the parameter that is added to the gradient.
  float beta1 = 0;  ///< Of `mean`.
  float gain1 = 0;  ///< 1 - beta1
  float beta2 = 0;  ///< Of `square`.
  float gain2 = 0;  ///< 1 - beta2
  float root = 0;   ///< 1 / sqrt(1 - beta2^steps)
  float eps = 0;
  float step = 0;  ///< lr / (1 - beta1^steps)
};

void adam_step(const AdamScalars& scalars, const float* gradient, float* mean,
               float* square, float* parameter, int64_t count);

struct SgdScalars {
  float decay = 0;
  float momentum = 0;
  float lr = 0;
  bool nesterov = false;
};

void sgd_step(const SgdScalars& scalars, const float* gradient, float* velocity,
              float* parameter, int64_t count);

}  // namespace kith
