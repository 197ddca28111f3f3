#pragma once

#include <torch/nn/module.h>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"

namespace kith {

struct BackboneInput {
  int64_t channels = 3;
};

/// A network from pictures to a map of features.
class Backbone : public torch::nn::Module {
 public:
  /// [N, channels, H, W] -> [N, features(), H', W']
  virtual Tensor forward(const Tensor& images) = 0;
  virtual int64_t features() const = 0;
};

using BackboneRegistry = Registry<Backbone, BackboneInput>;
BackboneRegistry& backbone_registry();

}  // namespace kith
