#pragma once

#include "kith/train/optimizer.h"

namespace kith {

struct AdamOptions {
  double lr = 1e-3;
  double weight_decay = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;

  void describe(OptionSet& set);
};

/// Adam (Kingma & Ba, 2015). Weight decay is added to the gradient, or, if
/// `decoupled` (AdamW, Loshchilov & Hutter, 2019), taken from the parameter.
class AdamBase : public Optimizer {
 public:
  AdamBase(const AdamOptions& options, const NamedTensors& parameters,
           bool decoupled);

  double base_lr() const override { return options_.lr; }

 protected:
  void update(size_t index, Tensor& parameter, const Tensor& grad, double lr,
              int64_t t) override;

 private:
  AdamOptions options_;
  bool decoupled_;
  std::vector<Tensor> mean_;    ///< Running mean of the gradient.
  std::vector<Tensor> square_;  ///< Running mean of its square.
};

}  // namespace kith
