#pragma once

#include "kith/losses/loss.h"

namespace kith {

struct SnrContrastiveOptions {
  double pos_margin = 0;  ///< Smaller ratios of positives cost nothing.
  double neg_margin = 1;  ///< Larger ratios of negatives cost nothing.

  void describe(OptionSet& set);
};

/// Contrastive loss on signal-to-noise ratios (Yuan et al., CVPR 2019) over all
/// ordered pairs of the batch, as pytorch-metric-learning computes it.
///
///     snr_ij = var(x_i - x_j) / var(x_i), over the coordinates
///     loss = mean [snr_ij - pos_margin]+ over positives
///          + mean [neg_margin - snr_ij]+ over negatives,
///
/// each mean over its terms above zero. An example without variance is no
/// anchor: it has no ratio. O(M^2 D) time, O(M^2) memory.
class SnrContrastive final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SnrContrastiveOptions;

  explicit SnrContrastive(Options options = {});

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
