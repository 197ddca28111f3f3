#pragma once

#include "kith/losses/loss.h"

namespace kith {

struct AngularAllOptions {
  double alpha = 40;         ///< Largest angle at the negative, in degrees.
  bool unit_anchors = true;  ///< Normalise anchors and positives.

  void describe(OptionSet& set);
};

/// Angular loss (Wang, Zhou, Wen, Liu & Lin, ICCV 2017) over all pairs of
/// positives, as pytorch-metric-learning computes it: anchors and positives are
/// normalised, x = e / |e|, and negatives are not. With t = tan(alpha)^2
///
///     l(a,p) = log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).e_n
///                                        - 2 (1 + t) x_a.x_p})
///     loss = mean over ordered pairs of positives of l(a,p)
///
/// l(a,p) = l(p,a), so that half of the pairs are enough.
class AngularAll final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = AngularAllOptions;

  explicit AngularAll(Options options = {});

  bool wants_unit() const override { return false; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
