#pragma once

#include <utility>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// x [M, D], left and right [N] int64 positions in 0 to M - 1 (not checked) ->
/// [N]: the Euclidean distances |x_left - x_right|, or their squares. From
/// differences, so that near duplicates keep their digits. The gradient at
/// distance zero is zero, not NaN, and so it is below 1e-19 in float32 (1e-154
/// in float64), where the square vanishes; it is the same for any number of
/// threads.
/// O(N D) time; memory of that size only on a GPU.
Tensor pair_distances(const Tensor& x, const Tensor& left, const Tensor& right,
                      bool squared = false);

/// c10::ValueError, with the remedy, if `tuples` is undefined.
void require_tuples(const Tensor& tuples);

/// tuples [T, W] int64 -> P times [T]: the distances of P pairs in each tuple,
/// such as {{0, 1}, {0, 2}} for anchor to positive and anchor to negative.
/// Tuples are required.
std::vector<Tensor> tuple_distances(
    const Tensor& x, const Tensor& tuples,
    const std::vector<std::pair<int64_t, int64_t>>& pairs,
    bool squared = false);

/// The mean of terms that are zero or more, over all of them or over those
/// above zero; zero if there are none.
Tensor hinge_mean(const Tensor& terms, bool only_active);

/// `value`, or NaN if x holds anything that is not finite. A hinge would hide
/// the infinity of a negative, and tuples what they do not name.
Tensor keep_bad_visible(const Tensor& value, const Tensor& x);

}  // namespace kith
