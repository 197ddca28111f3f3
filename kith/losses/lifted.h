#pragma once

#include <string>

#include "kith/losses/row_loss.h"

namespace kith {

struct LiftedOptions {
  double pos_margin = 0;
  double neg_margin = 1;
  double l2 = 0.005;                     ///< Weight of the embeddings' norms.
  std::string penalty = "squared_norm";  ///< Or "norm".
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Generalised lifted structure loss (Hermans, Beyer & Leibe, 2017).
///
///     l(a) = [log sum_{p in P_a} e^{D_ap - pos_margin}
///           + log sum_{n in N_a} e^{neg_margin - D_an}]+
///     loss = mean over anchors of l(a) + l2 * mean |e|^2
///
/// on the embeddings as they are, not normalised; an empty sum contributes 0.
class Lifted final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = LiftedOptions;

  explicit Lifted(const Options& options = {});

  bool wants_unit() const override { return false; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  double l2_;
  bool squared_;
};

}  // namespace kith
