#pragma once

#include <vector>

#include "kith/samplers/sampler.h"

namespace kith {

struct UniformSamplerOptions {
  int64_t batch = 32;     ///< Images.
  bool drop_last = true;  ///< The images that do not fill a batch.

  void describe(OptionSet& set);
};

/// The training images in random order, M at a time, without a look at the
/// labels, as HIST is trained (Lim et al., CVPR 2022).
class UniformSampler final : public Sampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = UniformSamplerOptions;

  UniformSampler(const Options& options, const SamplerInput& input);

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override;

 private:
  Options options_;
  uint64_t seed_;
  std::vector<int64_t> indices_;
};

}  // namespace kith
