#pragma once

#include "kith/samplers/pool/match_sampler.h"

namespace kith {

struct DistanceMatchingSamplerOptions {
  MatchOptions match = {};
  int64_t bins = 50;   ///< Of the histograms of distances.
  double weight = 75;  ///< Of the distance of the histograms.

  void describe(OptionSet& set);
};

/// Distance distribution matching (DDM): of random batches the one whose
/// distances are most like those of the pool it is drawn from. The score is in
/// scores.h (Roth et al., ICML 2020).
class DistanceMatchingSampler final : public MatchSampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = DistanceMatchingSamplerOptions;

  DistanceMatchingSampler(const Options& options, const SamplerInput& input);

 private:
  Tensor score(const Tensor& pool, const Tensor& batches) const override;

  int64_t bins_;
  double weight_;
};

}  // namespace kith
