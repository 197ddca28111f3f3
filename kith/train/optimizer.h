#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"

namespace kith {

/// Options that every optimiser has.
struct OptimizerOptions {
  double lr = 1e-3;
  double weight_decay = 0.0;
  double backbone_lr = 1.0;
  double head_lr = 1.0;
  double loss_lr = 1.0;
  bool decay_norms_and_biases = true;

  void describe(OptionSet& set);
};

/// Parameters that take a step alike, as lists: on a GPU one operation on a
/// list is a few launches, however many tensors it has.
struct ParameterGroup {
  std::vector<size_t> indices;     ///< Their numbers among all parameters.
  std::vector<Tensor> parameters;  ///< Only those with a gradient.
  std::vector<Tensor> grads;
  double lr = 0.0;  ///< With the factor of the group.
  double weight_decay = 0.0;

  /// The entries of a slot that belong to the group.
  std::vector<Tensor> of(const std::vector<Tensor>& slot) const;
};

/// Changes parameters by their gradients. kith has its own optimisers because
/// their whole state must be readable by name: that is what makes a resumed run
/// continue to the same bits. A test compares each with LibTorch's.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, NamedTensors parameters);
  virtual ~Optimizer() = default;

  /// Gives a parameter a learning rate of its own, instead of the
  /// configuration's; the schedule and the factor of its part hold for it too.
  void set_lr(const std::string& parameter, double lr);

  /// One step with learning rate `lr`. Parameters without gradient stay.
  void step(double lr);

  /// The learning rate of the configuration, before the schedule.
  double base_lr() const { return options_.lr; }

  /// "exp_avg.<parameter>" and so on, and "steps" ([1] int64). The tensors are
  /// the live ones: a checkpoint writes them and loads into them.
  NamedTensors state() const;

  void zero_grad();
  const NamedTensors& parameters() const { return parameters_; }

 protected:
  /// Changes the parameters of a group, of which there is at least one; `t`
  /// counts steps from 1.
  virtual void update(const ParameterGroup& group, int64_t t) = 0;

  /// A zero tensor for each parameter, part of the state under this name.
  std::vector<Tensor> make_slot(const std::string& name);

 private:
  /// What tells parameters of one group from those of another.
  struct Rule {
    double lr_factor = 1.0;
    double weight_decay = 0.0;
    std::vector<size_t> indices;
  };
  std::vector<Rule> make_rules() const;

  OptimizerOptions options_;
  NamedTensors parameters_;
  std::map<std::string, double> own_lr_;  ///< Of parameters that have one.
  std::vector<Rule> rules_;
  NamedTensors slots_;
  Tensor steps_;  ///< [1] int64
};

using OptimizerRegistry = Registry<Optimizer, NamedTensors>;
OptimizerRegistry& optimizer_registry();

/// Scales all gradients so that their joint L2 norm is at most `limit` (0: no
/// limit) and returns the norm before that. Waits for the device once.
double clip_gradients(const NamedTensors& parameters, double limit);

}  // namespace kith
