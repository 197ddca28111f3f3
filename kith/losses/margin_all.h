#pragma once

#include "kith/losses/margin_beta.h"

namespace kith {

struct MarginAllOptions {
  double margin = 0.2;  ///< Between the boundary and distances.
  double beta = 1.2;    ///< The boundary, or its first value.
  bool beta_per_class = false;
  bool learn = false;  ///< Or beta is a constant.
  double lr = 5e-4;    ///< Of beta; 0: the optimiser's.
  bool decay = false;  ///< The optimiser's, of beta too.
  double nu = 0;       ///< Weight of a learnt beta in the loss.

  void describe(OptionSet& set);
};

/// Margin loss (Wu et al., ICCV 2017) over all triplets of the batch, as
/// pytorch-metric-learning computes it; `margin` takes mined tuples.
///
///     l(a,p) = [D_ap - beta + margin]+
///     l(a,n) = [beta - D_an + margin]+
///     loss = sum over triplets of l(a,p) + l(a,n), divided by the number of
///            the terms above zero
///
/// beta is a constant, or learnt, one for all or one for each class of the
/// anchor. D is the Euclidean distance. No triplet is listed: O(M^2 D) time,
/// O(M^2) memory.
class MarginAll final : public LossWithBeta {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = MarginAllOptions;

  explicit MarginAll(Options options = {}, const LossContext& context = {});

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
