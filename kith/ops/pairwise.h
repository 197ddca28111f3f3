#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// x / ||x|| by rows, at any scale: rows are divided by row_scales() first, so
/// that no square overflows or vanishes. A row of zeros (or of numbers below
/// the smallest normal one, 1.2e-38 in float32) stays as it is, as if its norm
/// were 1; one with a NaN or infinity becomes NaN.
Tensor normalize_rows(const Tensor& x);

/// [N, D] float32 or float64 -> [N, 1]: for each row the power of two that
/// brings its largest number to 1 up to 2, and 1 for a row of zeros. Dividing
/// by it rounds nothing, and what is left can be squared and summed. Not
/// connected to x.
Tensor row_scales(const Tensor& x);

/// The distance from 1 to the next number of x's type, float32 or float64.
double epsilon_of(const Tensor& x);

/// weight * mean |x|^2 over the rows, or weight * mean |x|; zero for no rows.
Tensor norm_penalty(const Tensor& x, double weight, bool squared);

/// [N, D], [N, D] -> [N]: distance of each row of `a` to the same row of `b`.
/// The gradient at distance zero is zero, not NaN.
Tensor row_distances(const Tensor& a, const Tensor& b);

/// [N, D] -> [N, N]: Euclidean distances, from differences and not from inner
/// products, so that near duplicates keep their digits. Same gradient at zero.
Tensor all_distances(const Tensor& x);

/// [N] int64 -> [N, N] bool: same label and not the same position.
Tensor positive_mask(const Tensor& labels);

/// [N] int64 -> [N, N] bool: another label.
Tensor negative_mask(const Tensor& labels);

}  // namespace kith
