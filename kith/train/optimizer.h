#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"

namespace kith {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Changes parameters by their gradients. kith has its own optimisers because
/// their whole state must be readable by name: that is what makes a resumed run
/// continue to the same bits. A test compares each with LibTorch's.
class Optimizer {
 public:
  explicit Optimizer(NamedTensors parameters);
  virtual ~Optimizer() = default;

  /// One step with learning rate `lr`. Parameters without gradient stay.
  void step(double lr);

  /// The learning rate of the configuration, before the schedule.
  virtual double base_lr() const = 0;

  /// "exp_avg.<parameter>" and so on, and "steps" ([1] int64). The tensors are
  /// the live ones: a checkpoint writes them and loads into them.
  NamedTensors state() const;

  void zero_grad();
  const NamedTensors& parameters() const { return parameters_; }

 protected:
  /// `index` numbers the parameter, `t` counts steps from 1.
  virtual void update(size_t index, Tensor& parameter, const Tensor& grad,
                      double lr, int64_t t) = 0;

  /// A zero tensor for each parameter, part of the state under this name.
  std::vector<Tensor> make_slot(const std::string& name);

 private:
  NamedTensors parameters_;
  NamedTensors slots_;
  Tensor steps_;  ///< [1] int64
};

using OptimizerRegistry = Registry<Optimizer, NamedTensors>;
OptimizerRegistry& optimizer_registry();

/// Scales all gradients so that their joint L2 norm is at most `limit` (0: no
/// limit) and returns the norm before that.
double clip_gradients(const NamedTensors& parameters, double limit);

}  // namespace kith
