#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// x / ||x|| by rows. A row of zeros stays zero, as if its norm were 1.
Tensor normalize_rows(const Tensor& x);

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
