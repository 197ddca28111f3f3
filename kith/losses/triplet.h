#pragma once

#include <string>
#include <vector>

#include "kith/losses/loss.h"

namespace kith {

struct TripletOptions {
  double margin = 0.2;            ///< How much farther the negative should be.
  bool squared = false;           ///< Squared distances.
  std::string reduction = "all";  ///< Mean over all, or "active" triplets.

  void describe(OptionSet& set);
};

/// Triplet loss (Schroff, Kalenichenko & Philbin, CVPR 2015) on given triplets;
/// `triplet_all` takes all of the batch.
///
///     l(a,p,n) = [D_ap - D_an + margin]+
///
/// D is the Euclidean distance, or its square. Columns are used as they are
/// given, whatever the labels. O(T D) time.
class Triplet final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  static constexpr LossTraits kTraits = {.miner = "distance_weighted"};
  using Options = TripletOptions;

  explicit Triplet(Options options = {});

  std::vector<int64_t> tuple_widths() const override { return {3}; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
