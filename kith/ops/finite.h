#pragma once

#include <string>

#include "kith/core/tensor.h"

namespace kith {

/// Whether no value is NaN or infinite: one pass, one synchronisation. True of
/// integers and of an empty tensor.
bool all_finite(const Tensor& values);

/// The first row of [N, D] with a NaN or an infinite value; -1 if there is
/// none.
int64_t first_bad_row(const Tensor& rows);

/// The name of the first tensor with a NaN or an infinite value; empty if there
/// is none, which costs one synchronisation for all of them.
std::string first_bad_tensor(const NamedTensors& tensors);

}  // namespace kith
