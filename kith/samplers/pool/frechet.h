#pragma once

#include "kith/samplers/pool/match_sampler.h"

namespace kith {

/// Frechet distance matching (FRD): of random batches the one whose Gaussian
/// is nearest to that of the pool it is drawn from. The score is in scores.h
/// (Roth et al., ICML 2020).
class FrechetSampler final : public MatchSampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = MatchOptions;

  FrechetSampler(const Options& options, const SamplerInput& input);

 private:
  Tensor score(const Tensor& pool, const Tensor& batches) const override;
};

}  // namespace kith
