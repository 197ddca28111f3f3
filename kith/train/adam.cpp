#include "kith/train/adam.h"

#include <cmath>

#include <torch/torch.h>

namespace kith {

void AdamOptions::describe(OptionSet& set) {
  set.add("lr", lr, "Learning rate.").range(0);
  set.add("weight_decay", weight_decay, "Weight decay.").range(0);
  set.add("beta1", beta1, "Decay of the mean of the gradient.")
      .range(0, 0.999999);
  set.add("beta2", beta2, "Decay of the mean of its square.")
      .range(0, 0.999999);
  set.add("eps", eps, "Added to the root of the square.").positive();
}

AdamBase::AdamBase(const AdamOptions& options, const NamedTensors& parameters,
                   bool decoupled)
    : Optimizer(parameters),
      options_(options),
      decoupled_(decoupled),
      mean_(make_slot("exp_avg")),
      square_(make_slot("exp_avg_sq")) {}

void AdamBase::update(size_t index, Tensor& parameter, const Tensor& grad,
                      double lr, int64_t t) {
  const AdamOptions& o = options_;
  Tensor g = grad;
  if (decoupled_) {
    parameter.mul_(1 - lr * o.weight_decay);
  } else if (o.weight_decay != 0) {
    g = grad.add(parameter, o.weight_decay);
  }
  Tensor& mean = mean_[index];
  Tensor& square = square_[index];
  mean.mul_(o.beta1).add_(g, 1 - o.beta1);
  square.mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
  const auto steps = static_cast<double>(t);
  const double mean_bias = 1 - std::pow(o.beta1, steps);
  const double square_bias = 1 - std::pow(o.beta2, steps);
  const Tensor root = (square.sqrt() / std::sqrt(square_bias)).add_(o.eps);
  parameter.addcdiv_(mean, root, -lr / mean_bias);
}

}  // namespace kith
