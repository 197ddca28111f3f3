#pragma once

#include <ATen/core/Tensor.h>

#include "kith/core/tensor.h"

namespace kith {

/// The bytes of a contiguous tensor; no copy.
inline Tensor bytes_of(const Tensor& tensor) {
  return tensor.view({-1}).view(at::kByte);
}

}  // namespace kith
