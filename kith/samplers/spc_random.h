#pragma once

#include <unordered_map>
#include <vector>

#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct SpcRandomSamplerOptions {
  int64_t batch = 112;  ///< Images.

  void describe(OptionSet& set);
};

/// SPC-R: M-1 images uniformly, without repeats, and a class mate of one of
/// them, so that a batch has at least one pair of a class. Where all mates are
/// in the batch already, the last image is any other; where no image has a
/// mate at all, the last two are two images of a random class with two or
/// more. An epoch is N/M batches (Roth et al., ICML 2020).
class SpcRandomSampler final : public Sampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SpcRandomSamplerOptions;

  SpcRandomSampler(const Options& options, const SamplerInput& input);

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override;

 private:
  std::vector<int64_t> draw_batch(Rng& rng) const;
  void end_with_pair(std::vector<int64_t>& batch, Rng& rng) const;

  int64_t batch_;
  uint64_t seed_;
  int64_t batches_;
  std::vector<int64_t> indices_;
  ClassImages classes_;
  std::unordered_map<int64_t, size_t> class_of_;  ///< By image.
  std::vector<size_t> pairs_;  ///< Classes of two or more images.
};

}  // namespace kith
