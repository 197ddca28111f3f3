#include <torch/torch.h>

#include "kith/train/optimizers.h"

namespace kith {

void SgdOptions::describe(OptionSet& set) {
  describe_optimizer(set, lr, weight_decay, groups);
  set.add("momentum", momentum, "Share of the last step that is kept.")
      .range(0, 1);
  set.add("nesterov", nesterov, "Nesterov's momentum.");
}

SgdOptimizer::SgdOptimizer(Options options, const NamedTensors& parameters)
    : Optimizer({options.lr, options.weight_decay, options.groups}, parameters),
      options_(checked(std::move(options), "sgd")),
      velocity_(make_slot("velocity")) {}

void SgdOptimizer::update(const ParameterGroup& group) {
  std::vector<Tensor> grads = group.grads;
  if (group.weight_decay != 0) {
    grads = at::_foreach_add(grads, group.parameters, group.weight_decay);
  }
  const std::vector<Tensor> velocity = group.of(velocity_);
  at::_foreach_mul_(velocity, options_.momentum);
  at::_foreach_add_(velocity, grads);
  at::_foreach_add_(group.parameters,
                    options_.nesterov
                        ? at::_foreach_add(grads, velocity, options_.momentum)
                        : velocity,
                    -group.lr);
}

KITH_REGISTER(optimizer_registry(), "sgd", SgdOptimizer);

}  // namespace kith
