#pragma once

#include <functional>

#include "kith/core/tensor.h"

namespace kith {

/// The parameters of a network of two layers.
struct Hgnn {
  Tensor theta1_weight;  ///< [H, D]
  Tensor theta1_bias;    ///< [H]
  Tensor bn1_weight;     ///< [H]
  Tensor bn1_bias;       ///< [H]
  Tensor theta2_weight;  ///< [C, H]
  Tensor theta2_bias;    ///< [C]

  /// Logits [M, C] of a batch z [M, D]:
  ///
  ///     Z1 = LeakyReLU_0.1(BatchNorm(G Theta1 z)), logits = G Theta2 Z1
  ///
  /// `spread` multiplies by G [M, M]. Batch norm takes the statistics of the
  /// batch and keeps none: the network serves only in training.
  Tensor classify(const Tensor& z,
                  const std::function<Tensor(const Tensor&)>& spread) const;
};

}  // namespace kith
