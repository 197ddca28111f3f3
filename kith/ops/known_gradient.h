#pragma once

#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// A scalar whose gradient was computed with it, as a differentiable function:
/// d value / d inputs[i] = gradients[i], of the same shape. Inputs that require
/// no gradient are left out. A second derivative is refused with an error, for
/// it would be wrong.
Tensor known_gradient(const Tensor& value, const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& gradients);

}  // namespace kith
