#pragma once

#include <vector>

#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct WholeClassesSamplerOptions {
  int64_t batch = 256;  ///< Images.

  void describe(OptionSet& set);
};

/// The "random" batches of FastAP: random classes with all images of each,
/// until there are M. The class that would be too much is cut, and its other
/// images open the next batch, so an epoch uses every image once but for the
/// N mod M that fill no batch (Cakir et al., CVPR 2019, supplement A).
class WholeClassesSampler final : public Sampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = WholeClassesSamplerOptions;

  WholeClassesSampler(const Options& options, const SamplerInput& input);

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override;

 private:
  int64_t batch_;
  uint64_t seed_;
  int64_t batches_;
  ClassImages classes_;
};

}  // namespace kith
