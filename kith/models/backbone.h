#pragma once

#include <torch/nn/module.h>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"

namespace kith {

/// What a backbone is told beside its own options.
struct BackboneInput {
  int64_t channels = 3;
  int64_t size = 224;  ///< Pictures are size x size pixels.
  /// Batch norm: "train" (statistics of the batch), "stats" (running
  /// statistics are kept, the affine parameters train) or "all" (both kept).
  std::string batch_norm = "train";
};

/// What a backbone makes of pictures.
struct Features {
  Tensor map;    ///< [N, F, H, W]
  Tensor token;  ///< [N, F] class token; undefined where there is none.
};

/// A network from pictures to features.
class Backbone : public torch::nn::Module {
 public:
  /// [N, channels, size, size] -> features
  virtual Features forward(const Tensor& images) = 0;
  virtual int64_t features() const = 0;

  /// Whether features have a class token.
  virtual bool has_token() const { return false; }

  /// Turns tensors of a weight file (names and shapes of torchvision, timm and
  /// others) into those of this backbone, where they differ.
  virtual void adapt_weights(NamedTensors&) const {}
};

using BackboneRegistry = Registry<Backbone, BackboneInput>;
BackboneRegistry& backbone_registry();

}  // namespace kith
