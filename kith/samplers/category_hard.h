#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct CategoryHardSamplerOptions {
  int64_t batch = 256;           ///< Images, an even number.
  int64_t batches_per_pair = 5;  ///< Of categories, in an epoch.

  void describe(OptionSet& set);
};

/// The "hard" batches of FastAP: whole classes of one category until there are
/// M/2 images, and as many of another, so that half of a batch is hard to tell
/// apart. An epoch is every pair of categories, n batches each. Where some
/// images have no category (PKU VehicleID), M/2 images are of one category and
/// the others of classes without one; then an epoch is 2 N_c / M batches,
/// rounded up, for each category c of N_c images.
///
/// Each category is a row of classes that its batches are cut from in turn, as
/// in whole_classes. A category of fewer than M/2 images gives all it has and
/// the other half is larger by the rest; a batch is smaller than M where both
/// together have fewer (Cakir et al., CVPR 2019, supplement A).
class CategoryHardSampler final : public Sampler {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = CategoryHardSamplerOptions;

  CategoryHardSampler(const Options& options, const SamplerInput& input);

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override;

 private:
  struct Category {
    std::string name;
    int64_t images = 0;
    ClassImages classes;
  };

  void group_by_category(const SamplerInput& input);

  /// One entry of pairs_ a batch. The map has put "", if there, first.
  void pair_categories(int64_t batches_per_pair);
  void note_small_categories() const;

  /// How many images a batch has of two categories of these sizes.
  std::pair<size_t, size_t> share(size_t first, size_t second) const;

  int64_t batch_;
  uint64_t seed_;
  std::vector<Category> categories_;
  std::vector<std::pair<size_t, size_t>> pairs_;  ///< One a batch.
};

}  // namespace kith
