#pragma once

#include "kith/core/tensor.h"

namespace kith {

// Squared distances of all pairs from inner products, and their gradient, for
// losses that have the derivative by each distance. Neither builds a graph.

/// [N, D] -> [N, N]. What is below the rounding of the inner products is zero,
/// so that duplicates are at distance zero.
Tensor squared_distances(const Tensor& x);

/// dL/dx, given `slope` [N, N] with dL by each of them (ij and ji apart).
Tensor squared_distances_gradient(const Tensor& x, const Tensor& slope);

}  // namespace kith
