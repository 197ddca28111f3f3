#include "kith/train/adam.h"

#include <cmath>

#include <torch/torch.h>

namespace kith {

void AdamOptions::describe(OptionSet& set) {
  OptimizerOptions::describe(set);
  set.add("beta1", beta1, "Decay of the mean of the gradient.")
      .range(0, 0.999999);
  set.add("beta2", beta2, "Decay of the mean of its square.")
      .range(0, 0.999999);
  set.add("eps", eps, "Added to the root of the square.").positive();
}

AdamBase::AdamBase(const AdamOptions& options, const NamedTensors& parameters,
                   bool decoupled)
    : Optimizer(options, parameters),
      options_(options),
      decoupled_(decoupled),
      mean_(make_slot("exp_avg")),
      square_(make_slot("exp_avg_sq")) {}

void AdamBase::update(const ParameterGroup& group) {
  const AdamOptions& o = options_;
  std::vector<Tensor> grads = group.grads;
  if (group.weight_decay != 0 && decoupled_) {
    at::_foreach_mul_(group.parameters, 1 - group.lr * group.weight_decay);
  } else if (group.weight_decay != 0) {
    grads = at::_foreach_add(grads, group.parameters, group.weight_decay);
  }
  const std::vector<Tensor> mean = group.of(mean_);
  const std::vector<Tensor> square = group.of(square_);
  at::_foreach_mul_(mean, o.beta1);
  at::_foreach_add_(mean, grads, 1 - o.beta1);
  at::_foreach_mul_(square, o.beta2);
  at::_foreach_addcmul_(square, grads, grads, 1 - o.beta2);
  const auto steps = static_cast<double>(group.step);
  const double mean_bias = 1 - std::pow(o.beta1, steps);
  const double square_bias = 1 - std::pow(o.beta2, steps);
  const std::vector<Tensor> root = at::_foreach_sqrt(square);
  at::_foreach_div_(root, std::sqrt(square_bias));
  at::_foreach_add_(root, o.eps);
  at::_foreach_addcdiv_(group.parameters, mean, root, -group.lr / mean_bias);
}

}  // namespace kith
