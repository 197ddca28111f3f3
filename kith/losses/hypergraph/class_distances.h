#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// Squared Mahalanobis distances of a batch to the distributions of classes.
///
///     m_ic = sum_f (x_if - mu_cf)^2 / exp(v_cf)
///
/// with x and mu the rows of `embeddings` [M, D] and `means` [C, D] divided by
/// their norms, and v = `log_vars` [C, D] clamped to [0, 6]. Undefined
/// log_vars: all variances are 1. Returns [M, C].
///
/// The square is multiplied out into two matrix products: no M x C x D
/// differences. A distance is then off by a few roundings of 1, not of itself,
/// which softmax and exp do not see: both take differences of distances.
Tensor class_distances(const Tensor& embeddings, const Tensor& means,
                       const Tensor& log_vars);

}  // namespace kith
