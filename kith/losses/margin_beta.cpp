#include "kith/losses/margin_beta.h"

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/losses/class_vectors.h"

namespace kith {
namespace {

/// A given beta as [1] or [C]; undefined if none is given.
Tensor given_beta(const LossContext& context) {
  check_given(context, {"beta"});
  for (const auto& [name, value] : context.given) {
    if (name != "beta") continue;
    TORCH_CHECK_VALUE(
        value.is_floating_point() && value.dim() <= 1 && value.numel() > 0,
        "beta must be a number or floating point [classes], got ",
        value.scalar_type(), " ", value.sizes());
    return value.detach().clone().view({-1});
  }
  return {};
}

}  // namespace

MarginBeta::MarginBeta(const BetaStart& start, const LossContext& context)
    : learn_(start.learn),
      constant_(start.value),
      nu_(start.nu),
      values_(given_beta(context)) {
  if (!learn_ && nu_ > 0) {
    throw ConfigError(
        "'" + start.loss + ".nu' is the weight of a learnt beta: set '" +
        start.loss + ".learn' to true, or '" + start.loss + ".nu' to 0");
  }
  if (!learn_ && start.per_class) {
    throw ConfigError("'" + start.loss +
                      ".beta_per_class' is for a learnt beta: set '" +
                      start.loss + ".learn' to true");
  }
  if (values_.defined()) {
    const bool one = values_.numel() == 1 && !start.per_class;
    classes_ = one ? 0 : values_.numel();
  } else if (start.per_class) {
    if (context.classes == 0) {
      throw ConfigError(
          "'" + start.loss +
          ".beta_per_class' needs the number of classes, which is not "
          "known here: give the values of beta, or set it to false");
    }
    classes_ = context.classes;
  }
  if (!learn_) return;
  if (!values_.defined()) {
    values_ =
        torch::full({classes_ == 0 ? 1 : classes_}, constant_, torch::kFloat);
  }
  values_.requires_grad_();
}

Tensor MarginBeta::of(const Tensor& labels, const Tensor& like) const {
  if (!values_.defined()) return torch::full({1}, constant_, like.options());
  const Tensor values = values_.to(like.device(), like.scalar_type());
  return classes_ == 0 ? values : values.index_select(0, labels);
}

Tensor MarginBeta::penalty(const Tensor& beta, const Tensor& triplets,
                           const Tensor& divisor) const {
  if (classes_ == 0) return beta.sum() * (triplets.sum() > 0) * nu_;
  const Tensor total = (beta * triplets).sum() * (divisor > 0);
  return total / divisor.clamp_min(1) * nu_;
}

LossWithBeta::LossWithBeta(const BetaStart& start, const LossContext& context)
    : beta_(start, context), lr_(start.lr), decay_(start.decay) {
  if (beta_.parameter().defined()) {
    register_parameter("beta", beta_.parameter());
  }
}

}  // namespace kith
