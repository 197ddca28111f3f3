#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct LiftedStructureOptions {
  double pos_margin = 0;
  double neg_margin = 1;
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Lifted structure loss (Song, Xiang, Jegelka & Savarese, CVPR 2016), as
/// pytorch-metric-learning computes it.
///
///     J(a,p) = D_ap - pos_margin + log(sum_{n in N_a} e^{neg_margin - D_an}
///                                    + sum_{n in N_p} e^{neg_margin - D_pn})
///     loss = mean over ordered pairs of positives of [J]+^2 / 2
class LiftedStructure final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = LiftedStructureOptions;

  explicit LiftedStructure(const Options& options = {});

  bool takes_database() const override { return false; }
};

}  // namespace kith
