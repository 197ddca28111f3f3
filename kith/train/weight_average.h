#pragma once

#include <cstdint>
#include <vector>

#include "kith/models/embedding_net.h"

namespace kith {

/// A moving average of all that a network's state is, updated after each step:
///
///     a = a + (1 - d) (w - a),   d = min(decay, (1 + t) / (10 + t))
///
/// after step t, from 1; without warm-up d = decay. So it starts from the
/// weights before the first step, and what is frozen stays as it is to the bit.
/// Statistics of batch norm are averaged as weights are, and counters copied.
class WeightAverage {
 public:
  /// `net` must outlive it, on the device where it stays.
  WeightAverage(EmbeddingNet& net, double decay, bool warms_up);

  /// Begins from the weights as they are.
  void start();

  /// After step number `step`.
  void update(int64_t step);

  /// Gives the network the average. Who wants its weights back keeps them
  /// before.
  void put_into_net() const;

  /// By the names of EmbeddingNet::state(), live: a checkpoint writes them and
  /// loads into them.
  const NamedTensors& state() const { return state_; }

 private:
  EmbeddingNet& net_;
  double decay_;
  bool warms_up_;
  NamedTensors state_;
  std::vector<Tensor> live_, mean_;            ///< Of numbers with fractions.
  std::vector<Tensor> counters_, last_count_;  ///< Of the others.
};

}  // namespace kith
