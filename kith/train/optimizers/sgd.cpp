#include <torch/torch.h>

#include "kith/train/optimizer.h"

namespace kith {
namespace {

struct SgdOptions {
  double lr = 0.1;
  double weight_decay = 0.0;
  double momentum = 0.9;
  bool nesterov = false;

  void describe(OptionSet& set) {
    set.add("lr", lr, "Learning rate.").range(0);
    set.add("weight_decay", weight_decay, "Added to the gradient.").range(0);
    set.add("momentum", momentum, "Share of the last step that is kept.")
        .range(0, 1);
    set.add("nesterov", nesterov, "Nesterov's momentum.");
  }
};

/// v = momentum v + g; the parameter goes back by lr v (or, Nesterov's, by
/// lr (g + momentum v)). v starts at zero, so the first step is plain.
class Sgd final : public Optimizer {
 public:
  static constexpr const char* kSummary =
      "stochastic gradient descent with momentum";
  using Options = SgdOptions;

  Sgd(const Options& options, const NamedTensors& parameters)
      : Optimizer(parameters),
        options_(options),
        velocity_(make_slot("velocity")) {}

  double base_lr() const override { return options_.lr; }

 protected:
  void update(size_t index, Tensor& parameter, const Tensor& grad, double lr,
              int64_t) override {
    const Tensor g = grad.add(parameter, options_.weight_decay);
    Tensor& velocity = velocity_[index];
    velocity.mul_(options_.momentum).add_(g);
    parameter.add_(
        options_.nesterov ? g.add(velocity, options_.momentum) : velocity, -lr);
  }

 private:
  Options options_;
  std::vector<Tensor> velocity_;
};

}  // namespace

KITH_REGISTER(optimizer_registry(), "sgd", Sgd);

}  // namespace kith
