#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct SupconOptions {
  double temperature = 0.1;
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Supervised contrastive loss (Khosla et al., NeurIPS 2020), as
/// pytorch-metric-learning computes it.
///
///     l(a) = -1/|P_a| sum_{p in P_a} log(e^{s_ap/t} / sum_{j != a} e^{s_aj/t})
///
/// Mean over the anchors with a value above zero.
class Supcon final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = SupconOptions;

  explicit Supcon(const Options& options = {});
};

}  // namespace kith
