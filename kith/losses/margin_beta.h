#pragma once

#include <string>

#include "kith/losses/loss.h"

namespace kith {

/// Options of the losses with a boundary beta between positive and negative
/// distances.
struct MarginOptions {
  double margin = 0.2;
  double beta = 1.2;
  bool beta_per_class = false;
  bool learn = true;
  double lr = 5e-4;
  bool decay = false;
  double nu = 0;

  void describe(OptionSet& set);
};

/// The boundary: a constant, or a parameter "beta" for all or for each class.
class MarginBeta {
 public:
  /// ConfigError if options contradict each other or the number of classes is
  /// missing. A given "beta" ([], [1] or [C]) replaces the option; that of more
  /// than one value is per class.
  MarginBeta(const MarginOptions& options, const LossContext& context);

  /// The parameter; undefined: the boundary is a constant.
  Tensor parameter() const { return learn_ ? values_ : Tensor(); }
  /// How many classes have one of their own; 0: all share it.
  int64_t classes() const { return classes_; }

  /// The boundary of anchors with these labels [A], of the type and on the
  /// device of `like`: [A], or [1] if all share it.
  Tensor of(const Tensor& labels, const Tensor& like) const;

  /// The regulariser of a learnt beta, as in pytorch-metric-learning. With
  /// `beta` of of() and the number of triplets of each anchor, [A]:
  ///
  ///     nu * beta                                      if all share it,
  ///     nu * sum over triplets of beta_a / divisor     otherwise,
  ///
  /// 0 without a triplet, and in the second case without a divisor.
  Tensor penalty(const Tensor& beta, const Tensor& triplets,
                 const Tensor& divisor) const;
  bool has_penalty() const { return nu_ > 0; }

 private:
  bool learn_;
  double constant_;
  double nu_;
  int64_t classes_ = 0;
  Tensor values_;  ///< [1] or [C]; undefined: the constant.
};

}  // namespace kith
