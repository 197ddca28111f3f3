#pragma once

#include <string>
#include <vector>

#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {

struct CategoryHardSamplerOptions {
  int64_t batch = 256;  ///< Images, a multiple of `categories_per_batch`.
  int64_t categories_per_batch = 2;  ///< In a batch.
  int64_t batches_per_pair = 5;  ///< Of each set of categories, in an epoch.

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
///
/// Two is the published number of categories. With one, every batch is of a
/// single category (and images without one are not used); with more, an epoch
/// is every set of so many, and a batch has as many images of each. The authors
/// found both to be worse.
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

  /// Positions in categories_, which a batch is made of.
  using CategorySet = std::vector<size_t>;

  /// One entry of sets_ a batch. The map has put "", if there, first.
  void choose_sets(int64_t batches_per_set);
  void choose_with_unlabelled();
  void note_small_categories() const;

  /// How many images a batch has of categories of these sizes: as many of each,
  /// or all, where the larger ones then have more.
  std::vector<size_t> shares(const std::vector<size_t>& sizes) const;

  int64_t batch_;
  size_t per_batch_;  ///< Categories.
  uint64_t seed_;
  std::vector<Category> categories_;
  std::vector<CategorySet> sets_;
};

}  // namespace kith
