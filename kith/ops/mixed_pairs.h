#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// Virtual examples of SiMix: v = alpha x_i + (1 - alpha) x_j, of one class.
struct MixedPairs {
  Tensor pairs;   ///< [V, 2] int64 positions in the batch
  Tensor alphas;  ///< [V] float64
  bool defined() const { return pairs.defined(); }
};

}  // namespace kith
