#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"

namespace kith {

/// What differs between the parts of a training; every optimiser has it.
struct GroupOptions {
  double backbone_lr = 1.0;
  double head_lr = 1.0;
  double loss_lr = 1.0;
  double gem_lr = 1.0;
  double layer_decay = 1.0;
  double backbone_warmup = 0.0;
  double head_warmup = 0.0;
  double loss_warmup = 0.0;
  bool decay_norms = true;
  bool decay_gem = true;
};

/// Options that every optimiser has, with defaults of its own.
struct OptimizerOptions {
  double lr = 1e-3;
  double weight_decay = 0.0;
  GroupOptions groups = {};
};

/// How many epochs, with fractions, have been trained when a step is taken: in
/// all, and of the backbone, which may begin later. Warm-ups of parts go by
/// them; those of the default are over.
struct StepTime {
  double epoch = std::numeric_limits<double>::infinity();
  double backbone_epoch = std::numeric_limits<double>::infinity();
};

/// Describes them, for the optimiser's own describe().
void describe_optimizer(OptionSet& set, double& lr, double& weight_decay,
                        GroupOptions& groups);

/// Parameters that take a step alike, as lists: on a GPU one operation on a
/// list is a few launches, however many tensors it has. Each has taken as many
/// steps as the others.
struct ParameterGroup {
  std::vector<size_t> indices;     ///< Their numbers among all parameters.
  std::vector<Tensor> parameters;  ///< Only those with a gradient.
  std::vector<Tensor> grads;
  double lr = 0.0;  ///< With the factor of the group.
  double weight_decay = 0.0;
  int64_t step = 0;  ///< Which step of theirs this is, from 1.

  /// The entries of a slot that belong to the group.
  std::vector<Tensor> of(const std::vector<Tensor>& slot) const;
};

/// Changes parameters by their gradients. kith has its own optimisers because
/// their whole state must be readable by name: that is what makes a resumed run
/// continue to the same bits. Tests compare each with LibTorch's and PyTorch's.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, NamedTensors parameters);
  virtual ~Optimizer() = default;

  /// Gives a parameter a learning rate of its own, instead of the
  /// configuration's; the schedule and the factor of its part hold for it too.
  /// ConfigError, with all names, if there is no such parameter.
  void set_lr(const std::string& parameter, double lr);

  /// Keeps weight decay from a parameter; ConfigError as above.
  void spare_from_decay(const std::string& parameter);

  /// How many layers lie above each parameter: its learning rate is multiplied
  /// by layer_decay to that power. None above those that are not named.
  void set_layers_above(std::map<std::string, int64_t> layers);

  /// One step with learning rate `lr`. Parameters without gradient stay, and
  /// take no step: those that are frozen first start like new ones later.
  void step(double lr, const StepTime& time = {});

  /// The learning rate of the configuration, before the schedule.
  double base_lr() const { return options_.lr; }

  const GroupOptions& groups() const { return options_.groups; }

  /// "steps.<parameter>" ([1] int64), "exp_avg.<parameter>" and so on. The
  /// tensors are the live ones: a checkpoint writes them and loads into them.
  const NamedTensors& state() const { return state_; }

  void zero_grad();
  const NamedTensors& parameters() const { return parameters_; }

 protected:
  /// Changes the parameters of a group, of which there is at least one.
  virtual void update(const ParameterGroup& group) = 0;

  /// A zero tensor for each parameter, part of the state under this name.
  std::vector<Tensor> make_slot(const std::string& name);

 private:
  /// What tells parameters of one group from those of another.
  struct Rule {
    double lr_factor = 1.0;
    double weight_decay = 0.0;
    double warmup = 0.0;  ///< Epochs.
    bool is_backbone = false;
    std::vector<size_t> indices;
  };
  Rule rule_of(const std::string& name, const Tensor& parameter) const;
  std::vector<Rule> make_rules() const;
  void check_name(const std::string& parameter) const;
  double decay_of(const std::string& name, const Tensor& parameter) const;
  std::vector<ParameterGroup> count_step(const Rule& rule);

  OptimizerOptions options_;
  NamedTensors parameters_;
  std::map<std::string, double> own_lr_;  ///< Of parameters that have one.
  std::set<std::string> not_decayed_;
  /// Absent: nobody has said, which layer_decay needs.
  std::optional<std::map<std::string, int64_t>> layers_above_;
  std::vector<Rule> rules_;
  std::vector<Tensor> steps_;  ///< Of each parameter, [1] int64 on the CPU.
  NamedTensors state_;
};

using OptimizerRegistry = Registry<Optimizer, NamedTensors>;
OptimizerRegistry& optimizer_registry();

/// Scales all gradients so that their joint L2 norm is at most `limit` (0: no
/// limit) and returns the norm before that. Waits for the device once.
double clip_gradients(const NamedTensors& parameters, double limit);

}  // namespace kith
