#pragma once

#include "kith/train/optimizer.h"

namespace kith {

struct AdamOptions : OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;

  void describe(OptionSet& set);
};

/// Adam (Kingma & Ba, 2015). Weight decay is added to the gradient, or, if
/// `decoupled` (AdamW, Loshchilov & Hutter, 2019), taken from the parameter.
/// The correction of a mean's start at zero counts a parameter's own steps.
class AdamBase : public Optimizer {
 public:
  AdamBase(const AdamOptions& options, const NamedTensors& parameters,
           bool decoupled);

 protected:
  void update(const ParameterGroup& group) override;

 private:
  AdamOptions options_;
  bool decoupled_;
  std::vector<Tensor> mean_;    ///< Running mean of the gradient.
  std::vector<Tensor> square_;  ///< Running mean of its square.
};

}  // namespace kith
