#pragma once

#include <string>

#include "kith/losses/loss.h"

namespace kith {

/// What the boundary between positive and negative distances starts from.
struct BetaStart {
  double value = 1.2;
  bool per_class = false;
  bool learn = true;
  double lr = 0;
  bool decay = false;
  double nu = 0;
  std::string loss = {};  ///< What errors call it.
};

/// The options that losses with such a boundary share: `margin`, `beta`,
/// `beta_per_class`, `learn`, `lr`, `decay` and `nu` of `Options`.
template <class Options>
void describe_margin(OptionSet& set, Options& options) {
  set.add("margin", options.margin,
          "How far from the boundary beta distances should be, positives "
          "below and negatives above.");
  set.add("beta", options.beta,
          "The boundary between positive and negative distances, or its first "
          "value; 0.6 is the other published one.")
      .range(0);
  set.add("beta_per_class", options.beta_per_class,
          "A learnt beta for each class of the anchor, instead of one.");
  set.add("learn", options.learn, "Learn beta; otherwise it is a constant.");
  set.add("lr", options.lr, "Learning rate of beta; 0: the optimiser's.")
      .range(0);
  set.add("decay", options.decay,
          "The optimiser's weight decay holds for beta too: it then falls, and "
          "with Adam that of a rare class as fast as any.");
  set.add("nu", options.nu, "Weight of a learnt beta in the loss.").range(0);
}

/// What the options of the loss of this name say, if they are allowed.
template <class Options>
BetaStart beta_start(const Options& options, const std::string& loss) {
  const Options o = checked(options, loss);
  return {o.beta, o.beta_per_class, o.learn, o.lr, o.decay, o.nu, loss};
}

/// The boundary: a constant, or a parameter "beta" for all or for each class.
class MarginBeta {
 public:
  /// ConfigError if options contradict each other or the number of classes is
  /// missing. A given "beta" ([], [1] or [C]) replaces the option; that of more
  /// than one value is per class.
  MarginBeta(const BetaStart& start, const LossContext& context);

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

/// A loss with such a boundary.
class LossWithBeta : public Loss {
 public:
  double parameter_lr(const std::string&) const override { return lr_; }
  bool decays_parameters() const override { return decay_; }
  int64_t classes() const override { return beta_.classes(); }

 protected:
  LossWithBeta(const BetaStart& start, const LossContext& context);

  MarginBeta beta_;

 private:
  double lr_;
  bool decay_;
};

}  // namespace kith
