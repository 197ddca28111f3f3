#pragma once

#include <vector>

#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct ClassBalancedSamplerOptions {
  int64_t batch = 400;    ///< Images, a multiple of per_class.
  int64_t per_class = 4;  ///< Images of each class.

  void describe(OptionSet& set);
};

/// m images of each of K = M/m different classes a batch. Each class's images
/// are shuffled and cut into groups of m, G in all, and a batch takes one group
/// of each of its classes.
///
/// An epoch is G/K batches if no class has more groups than that, and then no
/// image comes twice. Otherwise every image is used, which takes as many
/// batches as the largest class has groups, and the smaller classes start again
/// when they are used up; in classes so unequal that this would be more than
/// twice G/K batches, there are G/K, rounded up, and the largest classes leave
/// some images to other epochs.
class ClassBalancedSampler final : public Sampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = ClassBalancedSamplerOptions;

  ClassBalancedSampler(const Options& options, const SamplerInput& input);

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override;

 private:
  void group_by_class(const SamplerInput& input);

  int64_t per_class_;
  uint64_t seed_;
  int64_t classes_a_batch_ = 0;
  ClassImages classes_;
};

}  // namespace kith
