#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "kith/core/options.h"
#include "kith/core/tensor.h"

namespace kith {

struct HeadOptions {
  int64_t dim = 128;
  std::string pooling = "gem";
  double gem_p = 3.0;
  std::string layer_norm = "none";
  bool l2 = true;

  void describe(OptionSet& set);
};

/// From a map of features to an embedding: pooling, LayerNorm (before or after
/// the linear layer), linear, L2.
///
/// GeM (Radenovic et al., 2019): (mean over positions of max(f, 1e-6)^p)^(1/p)
/// for each channel, with one learnt p.
class Head final : public torch::nn::Module {
 public:
  Head(const HeadOptions& options, int64_t features);

  /// [N, features, H, W] -> [N, dim]
  Tensor forward(const Tensor& features);

 private:
  HeadOptions options_;
  Tensor gem_p_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear linear_{nullptr};
};

}  // namespace kith
