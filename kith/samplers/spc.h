#pragma once

#include <vector>

#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct SpcSamplerOptions {
  int64_t batch = 112;    ///< Images, a multiple of per_class.
  int64_t per_class = 2;  ///< Images of each class each time it is drawn.

  void describe(OptionSet& set);
};

/// Samples per class (SPC-m): M/m times a class, uniformly and with
/// replacement, and m of its images. An image comes twice in a batch only when
/// its class has no other left. An epoch is N/M batches: some images are not
/// in it and others more than once (Roth et al., ICML 2020).
class SpcSampler final : public Sampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SpcSamplerOptions;

  SpcSampler(const Options& options, const SamplerInput& input);

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override;

 private:
  Options options_;
  uint64_t seed_;
  int64_t batches_;
  ClassImages classes_;
};

}  // namespace kith
