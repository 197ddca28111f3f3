#pragma once

#include <utility>

#include <torch/nn/modules/batchnorm.h>

#include "kith/core/tensor.h"
#include "kith/distributed/communicator.h"

namespace kith {

/// Batch norm whose statistics in training are those of what all ranks give at
/// the same time, as if it were one batch on one rank; also for its gradients.
/// All ranks must run the network forward and backward in step. Each layer
/// waits for all of them, once forward and once backward.
///
/// It is a module without parameters beside the one that it computes: that has
/// the name and the numbers of a plain one, and share_statistics() finds this.
class SharedNorm : public torch::nn::Module {
 public:
  explicit SharedNorm(torch::nn::BatchNorm2d norm) : norm_(std::move(norm)) {}

  /// One rank until then. `ranks` must outlive its use.
  void use_ranks(Communicator& ranks) { ranks_ = &ranks; }

  /// [N, C, H, W] of this rank. N may differ between ranks.
  Tensor forward(const Tensor& x);

 private:
  torch::nn::BatchNorm2d norm_;  ///< Not registered: its owner has it.
  Communicator* ranks_ = &alone();
};

/// Lets all such layers of `module` share their statistics.
void share_statistics(torch::nn::Module& module, Communicator& ranks);

}  // namespace kith
