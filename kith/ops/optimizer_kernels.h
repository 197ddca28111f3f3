#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kith/ops/bf16.h"

namespace kith {

// Steps of the optimisers on float32 numbers, which are bound by memory: each
// reads and writes every number once, where operations of LibTorch would go
// over them eight times. Without LibTorch; cpu/ and cuda/ have the loops. On
// CPUs the bits are the same on every processor.

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

/// The step of one number.
KITH_BOTH_SIDES void step_number(const AdamScalars& c, float gradient,
                                 float& mean, float& square, float& parameter) {
  const float p = parameter * c.keep;
  const float g = gradient + c.decay * p;
  mean = c.beta1 * mean + c.gain1 * g;
  square = c.beta2 * square + c.gain2 * (g * g);
  parameter = p - c.step * mean / (std::sqrt(square) * c.root + c.eps);
}

struct SgdScalars {
  float decay = 0;
  float momentum = 0;
  float lr = 0;
  bool nesterov = false;
};

KITH_BOTH_SIDES void step_number(const SgdScalars& c, float gradient,
                                 float& velocity, float& parameter) {
  const float g = gradient + c.decay * parameter;
  velocity = c.momentum * velocity + g;
  const float ahead = c.nesterov ? g + c.momentum * velocity : velocity;
  parameter -= c.lr * ahead;
}

void adam_step(const AdamScalars& scalars, const float* gradient, float* mean,
               float* square, float* parameter, int64_t count);
void sgd_step(const SgdScalars& scalars, const float* gradient, float* velocity,
              float* parameter, int64_t count);

/// Numbers that belong together, such as those of a parameter, its gradient and
/// a running mean of that.
template <int kLists>
struct NumberLists {
  float* data[kLists] = {};
  int64_t count = 0;  ///< In each.
};

/// On a GPU all tensors of a model are one call. `stream` is a cudaStream_t.
struct GpuSteps {
  static constexpr int64_t kPiece = 1 << 14;  ///< Numbers of a block.

  /// Gradient, mean, square, parameter.
  void (*adam)(const AdamScalars&, const std::vector<NumberLists<4>>&,
               void* stream) = nullptr;
  /// Gradient, velocity, parameter.
  void (*sgd)(const SgdScalars&, const std::vector<NumberLists<3>>&,
              void* stream) = nullptr;
  /// The sum of the squares of each piece, behind each other: of every tensor
  /// there are pieces_of() it.
  void (*squares)(const std::vector<NumberLists<1>>&, double* sums,
                  void* stream) = nullptr;

  static int64_t pieces_of(int64_t count) {
    return (count + kPiece - 1) / kPiece;
  }
};

/// Null pointers without CUDA.
extern const GpuSteps gpu_steps;

}  // namespace kith
