#pragma once

#include "kith/miners/distance_weighted.h"

namespace kith {

struct RhoDistanceMinerOptions {
  double p_switch = 0.35;  ///< Probability of a switched triplet.
  DistanceWeightedMinerOptions weights = {};

  void describe(OptionSet& set);
};

/// Rho-regularisation (Roth et al., ICML 2020): the triplets (a, p, n) of
/// `distance_weighted`, but with probability p_switch (a, a, p) in place of
/// one, which pushes a positive away and so keeps classes spread out.
class RhoDistanceMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = RhoDistanceMinerOptions;

  explicit RhoDistanceMiner(const Options& options = {});

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;

 private:
  Options options_;
};

}  // namespace kith
