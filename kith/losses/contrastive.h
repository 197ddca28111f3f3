#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/losses/row_loss.h"

namespace kith {

struct ContrastiveOptions {
  double pos_margin = 0.0;
  double neg_margin = 1.0;
  /// What the means go over: "all" or "active" pairs, or "auto": all for
  /// tuples, active for all pairs of the batch.
  std::string reduction = "auto";
  MixedRowOptions rows = {};  ///< For all pairs of the batch.

  void describe(OptionSet& set);
};

/// Contrastive loss (Hadsell, Chopra & LeCun, CVPR 2006).
///
///     l(i,j) = [D_ij - pos_margin]+   if y_i == y_j
///              [neg_margin - D_ij]+   otherwise
///
/// over given pairs or triplets (a,p), (a,n), or over all ordered pairs of the
/// batch, as pytorch-metric-learning computes it, at any batch size. Each sign
/// has its own mean and the two are added, so a batch without positives (or
/// negatives) is legal. D is the Euclidean distance. Columns of triplets are
/// used as they are given, whatever the labels. O(T D) time for tuples,
/// O(M^2 D) for all pairs.
class Contrastive : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  static constexpr LossTraits kTraits = {.miner = "distance_weighted"};
  using Options = ContrastiveOptions;

  explicit Contrastive(Options options = {});

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }
  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  LossOutput on_all_pairs(const LossInput& input) const;
  Tensor on_triplets(const LossInput& input) const;
  Tensor on_pairs(const LossInput& input) const;

  Options options_;
  std::shared_ptr<RowReplay> replay_;
};

}  // namespace kith
