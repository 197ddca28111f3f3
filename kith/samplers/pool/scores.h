#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// How far batches are from the pool they are drawn from, by their distances:
///
///     |mu - mu'| + |std - std'| + weight W1(h, h')
///
/// with the mean and the standard deviation of each coordinate, and the
/// 1-Wasserstein distance of the histograms h of all pairwise distances, which
/// have `bins` equal bins from the least to the largest distance of the pool.
///
/// `pool` is [P, D] (float, CPU), `batches` [C, M] rows of it; returns [C]
/// doubles. O(P^2 D + C M (M + D)) time, O(P^2) memory.
Tensor distance_scores(const Tensor& pool, const Tensor& batches, int64_t bins,
                       double weight);

/// The same by the Frechet distance of Gaussians with the means and the
/// (unbiased) covariances A of the pool and B of a batch:
///
///     |mu - mu'|^2 + tr A + tr B - 2 tr (A^1/2 B A^1/2)^1/2
///
/// with 1e-8 added to the diagonals of A and B in the last term, which is the
/// sum of the roots of the eigenvalues. Computed in double. O(C D^2 (M + D))
/// time.
Tensor frechet_scores(const Tensor& pool, const Tensor& batches);

}  // namespace kith
