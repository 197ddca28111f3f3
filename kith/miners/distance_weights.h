#pragma once

#include "kith/core/options.h"
#include "kith/core/tensor.h"
#include "kith/miners/class_places.h"

namespace kith {

/// Of negatives drawn by the inverse density of their distance.
struct DistanceWeightOptions {
  double cutoff = 0.5;
  double upper_cutoff = 0.0;

  void describe(OptionSet& set);
};

/// Distance weighted sampling (Wu et al., ICCV 2017): distances D of random
/// points of the unit sphere in d dimensions have the density
///
///     log q(D) = (d - 2) log D + (d - 3) / 2 log(1 - D^2 / 4) + const
///
/// and a negative is drawn with probability proportional to 1 / q(D), so that
/// all distances come alike. D is clamped below at `cutoff`; negatives beyond
/// `upper_cutoff`, unless that is 0, have no weight.
///
/// embeddings [M, D], labels [M] -> [M, M]: -log q; -inf for examples of the
/// anchor's class and beyond the upper cutoff. Never +inf, and NaN only where
/// the embeddings have it: 1 - D^2 / 4 is clamped below at 1e-7.
Tensor negative_log_weights(const Tensor& embeddings, const Tensor& labels,
                            const DistanceWeightOptions& options);

/// [M] int64: a negative for each example, by `u` [2, M]; uniformly where none
/// has weight. M > 0.
Tensor weighted_negatives(const Tensor& embeddings, const Tensor& labels,
                          const ClassPlaces& places, const Tensor& u,
                          const DistanceWeightOptions& options);

}  // namespace kith
