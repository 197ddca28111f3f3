#include <torch/torch.h>

#include "kith/train/optimizer.h"

namespace kith {
namespace {

struct SgdOptions : OptimizerOptions {
  double momentum = 0.9;
  bool nesterov = false;

  SgdOptions() { lr = 0.1; }

  void describe(OptionSet& set) {
    OptimizerOptions::describe(set);
    set.add("momentum", momentum, "Share of the last step that is kept.")
        .range(0, 1);
    set.add("nesterov", nesterov, "Nesterov's momentum.");
  }
};

/// v = momentum v + g, where weight decay is part of g; the parameter goes back
/// by lr v (or, Nesterov's, by lr (g + momentum v)). v starts at zero, so the
/// first step is plain.
class Sgd final : public Optimizer {
 public:
  static constexpr const char* kSummary =
      "stochastic gradient descent with momentum";
  using Options = SgdOptions;

  Sgd(const Options& options, const NamedTensors& parameters)
      : Optimizer(options, parameters),
        options_(options),
        velocity_(make_slot("velocity")) {}

 protected:
  void update(const ParameterGroup& group) override {
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

 private:
  Options options_;
  std::vector<Tensor> velocity_;
};

}  // namespace

KITH_REGISTER(optimizer_registry(), "sgd", Sgd);

}  // namespace kith
