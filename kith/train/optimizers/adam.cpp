#include <cmath>

#include <torch/torch.h>

#include "kith/ops/optimizer_kernels.h"
#include "kith/train/one_pass.h"
#include "kith/train/optimizers.h"

namespace kith {
namespace {

void describe_adam(OptionSet& set, double& beta1, double& beta2, double& eps) {
  set.add("beta1", beta1, "Decay of the mean of the gradient.")
      .range(0, 0.999999);
  set.add("beta2", beta2, "Decay of the mean of its square.")
      .range(0, 0.999999);
  set.add("eps", eps, "Added to the root of the square.").positive();
}

}  // namespace

void AdamOptions::describe(OptionSet& set) {
  describe_optimizer(set, lr, weight_decay, groups);
  describe_adam(set, beta1, beta2, eps);
}

void AdamWOptions::describe(OptionSet& set) {
  describe_optimizer(set, lr, weight_decay, groups);
  describe_adam(set, beta1, beta2, eps);
}

AdamOptimizer::AdamOptimizer(Options options, const NamedTensors& parameters)
    : AdamOptimizer(checked(std::move(options), "adam"), parameters,
                    /*decoupled=*/false) {}

AdamOptimizer::AdamOptimizer(const Options& options,
                             const NamedTensors& parameters, bool decoupled)
    : Optimizer({options.lr, options.weight_decay, options.groups}, parameters),
      options_(options),
      decoupled_(decoupled),
      mean_(make_slot("exp_avg")),
      square_(make_slot("exp_avg_sq")) {}

AdamWOptimizer::AdamWOptimizer(const Options& options,
                               const NamedTensors& parameters)
    : AdamOptimizer({.lr = options.lr,
                     .weight_decay = options.weight_decay,
                     .groups = options.groups,
                     .beta1 = options.beta1,
                     .beta2 = options.beta2,
                     .eps = options.eps},
                    parameters, /*decoupled=*/true) {
  checked(options, "adamw");
}

void AdamOptimizer::update(const ParameterGroup& group) {
  const auto steps = static_cast<double>(group.step);
  const double mean_bias = 1 - std::pow(options_.beta1, steps);
  const double square_bias = 1 - std::pow(options_.beta2, steps);
  const TensorLists<4> lists = {group.grads, group.of(mean_), group.of(square_),
                                group.parameters};
  if (!lie_alike(lists)) {
    update_lists(group, mean_bias, square_bias);
    return;
  }
  const double decay = group.weight_decay;
  const auto in_float = [](double x) { return static_cast<float>(x); };
  const AdamScalars scalars = {
      .keep = in_float(decoupled_ ? 1 - group.lr * decay : 1),
      .decay = in_float(decoupled_ ? 0 : decay),
      .beta1 = in_float(options_.beta1),
      .gain1 = in_float(1 - options_.beta1),
      .beta2 = in_float(options_.beta2),
      .gain2 = in_float(1 - options_.beta2),
      .root = in_float(1 / std::sqrt(square_bias)),
      .eps = in_float(options_.eps),
      .step = in_float(group.lr / mean_bias)};
  if (group.parameters.front().is_cuda()) {
    on_gpu(lists, [&](const auto& numbers, void* stream) {
      gpu_steps.adam(scalars, numbers, stream);
    });
    return;
  }
  in_one_pass(lists, [&](const auto& data, int64_t count) {
    adam_step(scalars, data[0], data[1], data[2], data[3], count);
  });
}

/// Whatever lies otherwise, or is of another type.
void AdamOptimizer::update_lists(const ParameterGroup& group, double mean_bias,
                                 double square_bias) {
  const Options& o = options_;
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
  const std::vector<Tensor> root = at::_foreach_sqrt(square);
  at::_foreach_div_(root, std::sqrt(square_bias));
  at::_foreach_add_(root, o.eps);
  at::_foreach_addcdiv_(group.parameters, mean, root, -group.lr / mean_bias);
}

KITH_REGISTER(optimizer_registry(), "adam", AdamOptimizer);
KITH_REGISTER(optimizer_registry(), "adamw", AdamWOptimizer);

}  // namespace kith
