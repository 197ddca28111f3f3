#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// to = a b of two float16 or two bfloat16 matrices, summed up and kept in
/// float32. On a GPU it needs LibTorch 2.8; on the CPU it is a product in
/// float32.
void multiply_halves(Tensor& to, const Tensor& a, const Tensor& b);

/// Whether this LibTorch does so on a GPU.
bool multiplies_halves_on_gpus();

}  // namespace kith
