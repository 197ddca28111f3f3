#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// Rows of `points` [P, D] (float, CPU) that cover them: the first row, then
/// `count` - 1 times the row farthest from those chosen, argmax_i min_j
/// |x_i - x_j|. The earlier row wins a tie, and no row comes twice. O(count P
/// D) time, O(P) memory.
std::vector<int64_t> farthest_points(const Tensor& points, int64_t count);

}  // namespace kith
