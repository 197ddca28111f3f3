#include <torch/torch.h>

#include "kith/ops/optimizer_kernels.h"
#include "kith/train/one_pass.h"
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
  const TensorLists<3> lists = {group.grads, group.of(velocity_),
                                group.parameters};
  if (!lie_alike(lists)) {
    update_lists(group);
    return;
  }
  const SgdScalars scalars = {.decay = static_cast<float>(group.weight_decay),
                              .momentum = static_cast<float>(options_.momentum),
                              .lr = static_cast<float>(group.lr),
                              .nesterov = options_.nesterov};
  if (group.parameters.front().is_cuda()) {
    on_gpu(lists, [&](const auto& numbers, void* stream) {
      gpu_steps.sgd(scalars, numbers, stream);
    });
    return;
  }
  in_one_pass(lists, [&](const auto& data, int64_t count) {
    sgd_step(scalars, data[0], data[1], data[2], count);
  });
}

/// Whatever lies otherwise, or is of another type.
void SgdOptimizer::update_lists(const ParameterGroup& group) {
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
