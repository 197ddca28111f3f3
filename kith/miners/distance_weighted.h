#pragma once

#include "kith/miners/choose.h"
#include "kith/miners/miner.h"

namespace kith {

struct DistanceWeightedMinerOptions {
  double cutoff = 0.5;        ///< Nearer negatives count as this far.
  double upper_cutoff = 0.0;  ///< Farther ones are not drawn; 0: no limit.

  void describe(OptionSet& set);
};

/// Distance weighted sampling (Wu et al., ICCV 2017): for each anchor that has
/// a positive and a negative a uniform positive, and a negative with
/// probability proportional to 1 / q(D_an). Distances D of random points of the
/// unit sphere in d dimensions have the density
///
///     log q(D) = (d - 2) log D + (d - 3) / 2 log(1 - D^2 / 4) + const
///
/// so all distances come alike. D is clamped below at `cutoff`; negatives
/// beyond `upper_cutoff`, unless that is 0, have no weight.
class DistanceWeightedMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = DistanceWeightedMinerOptions;

  explicit DistanceWeightedMiner(const Options& options = {});

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;

 private:
  Options options_;
};

/// embeddings [M, D], labels [M] -> [M, M]: -log q; -inf for examples of the
/// anchor's class and beyond the upper cutoff. Never +inf, and NaN only where
/// the embeddings have it: 1 - D^2 / 4 is clamped below at 1e-7.
Tensor negative_log_weights(const Tensor& embeddings, const Tensor& labels,
                            const DistanceWeightedMinerOptions& options);

/// [M] int64: a negative for each example, by `u` [2, M]; uniformly where none
/// has weight. M > 0.
Tensor weighted_negatives(const Tensor& embeddings, const Tensor& labels,
                          const ClassPlaces& places, const Tensor& u,
                          const DistanceWeightedMinerOptions& options);

}  // namespace kith
