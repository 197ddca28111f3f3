#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct CircleOptions {
  double m = 0.4;      ///< Margin.
  double gamma = 80;   ///< Scale.
  bool detach = true;  ///< Weights are constants in the gradient.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Circle loss (Sun et al., CVPR 2020), as pytorch-metric-learning computes it.
///
///     l(a) = softplus(log sum_p e^{-gamma [1 + m - s_p]+ (s_p - (1 - m))}
///                   + log sum_n e^{gamma [s_n + m]+ (s_n - m)})
///
/// The brackets are weights: with `detach` they are constants in the gradient,
/// which then is not the derivative of the value. Mean over the anchors with a
/// value above zero; one without positives or negatives has none.
class Circle final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = CircleOptions;

  explicit Circle(const Options& options = {});

  bool gradient_is_derivative() const override { return !detach_; }

 private:
  bool detach_;
};

}  // namespace kith
