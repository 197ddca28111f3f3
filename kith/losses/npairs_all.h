#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

/// N-pairs loss (Sohn, NeurIPS 2016), as pytorch-metric-learning computes it:
/// the first two examples of each class in the batch, an anchor a_c and its
/// positive p_c, classify each other.
///
///     loss = mean over classes of -log(e^{a_c.p_c} / sum_{c'} e^{a_c.p_c'})
///
/// Which pair stands for a class depends on the order of the batch.
class NpairsAll final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = RowOptions;

  explicit NpairsAll(Options options = {});

  bool depends_on_order() const override { return true; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
