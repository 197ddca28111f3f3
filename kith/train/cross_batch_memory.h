#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "kith/losses/loss.h"

namespace kith {

/// Embeddings of past batches that a batch is compared with beside its own
/// (cross-batch memory; Wang, Zhang, Huang & Scott, CVPR 2020): a queue, in
/// which the newest embeddings take the place of the oldest. Networks change
/// slowly, so old embeddings are still good negatives and positives, and no
/// gradient flows to them.
class CrossBatchMemory {
 public:
  /// A queue of `size` embeddings of `dim` numbers.
  CrossBatchMemory(int64_t size, int64_t dim, c10::Device device);

  /// The batch and, behind it, what the queue holds: extra columns for a loss
  /// on the rows of similarities.
  Database with(const Tensor& embeddings, const Tensor& labels) const;

  /// Adds a batch; of one larger than the queue, its end.
  void push(const Tensor& embeddings, const Tensor& labels);

  int64_t count() const;

  /// What a checkpoint keeps: live tensors "embeddings" [size, dim], "labels"
  /// [size] and "place" [2], the next place and how many are filled.
  NamedTensors state() const;

 private:
  Tensor embeddings_;
  Tensor labels_;
  Tensor place_;  ///< On the CPU.
};

}  // namespace kith
