#pragma once

#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "kith/core/tensor.h"

namespace kith {

/// Buffers in which a network gathers statistics of what passes through: those
/// of its modules in training mode. Batch norm that keeps its statistics is in
/// evaluation mode.
std::vector<Tensor> gathered_statistics(const torch::nn::Module& net);

/// Puts those statistics back to what they were when it was made, unless
/// dismiss() says that what was gathered since then counts.
class StatisticsGuard {
 public:
  explicit StatisticsGuard(const torch::nn::Module& net);
  ~StatisticsGuard();
  StatisticsGuard(const StatisticsGuard&) = delete;
  StatisticsGuard& operator=(const StatisticsGuard&) = delete;

  void dismiss() { before_.clear(); }

 private:
  /// Buffers of one type and, behind each other, their values: one copy, for
  /// a network has a hundred of them, and on a GPU each would be a launch.
  std::vector<std::pair<std::vector<Tensor>, Tensor>> before_;
};

}  // namespace kith
