#pragma once

#include <string>
#include <vector>

#include "kith/losses/loss.h"

namespace kith {

struct QuadrupletOptions {
  double margin1 = 1.0;           ///< Of the anchor's negative.
  double margin2 = 0.5;           ///< Of the two negatives.
  std::string reduction = "all";  ///< Mean over all, or "active" tuples.

  void describe(OptionSet& set);
};

/// Quadruplet loss (Chen et al., CVPR 2017) on given tuples.
///
///     l(a,p,n,l) = [D_ap - D_an + margin1]+ + [D_ap - D_nl + margin2]+
///
/// l is a second negative of a third class. It comes with tuples of four;
/// for a triplet it is drawn from the batch, and where the batch has no third
/// class the second term is 0. D is the Euclidean distance. Columns are used as
/// they are given, whatever the labels. O(T D) time, and O(M log M) to draw.
class Quadruplet final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  static constexpr LossTraits kTraits = {.miner = "distance_weighted"};
  using Options = QuadrupletOptions;

  explicit Quadruplet(Options options = {});

  std::vector<int64_t> tuple_widths() const override { return {3, 4}; }

  /// Which second negative a draw means.
  bool depends_on_order() const override { return true; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
