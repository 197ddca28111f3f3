#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/samplers/sampler.h"

namespace kith {

/// Embeddings of all training images, for samplers that choose by them: each
/// as the network made it when it last was in a batch, or when the pool was
/// filled. An epoch is planned from the pool as it was when the epoch began;
/// that state is kept, so that a resumed run makes the same plan.
class TrainingPool {
 public:
  /// `images`: positions in the data set, in the sampler's order.
  TrainingPool(const std::vector<int64_t>& images, int64_t dim);

  /// All embeddings anew, [images, dim].
  void fill(const Tensor& embeddings);

  /// Those of a batch.
  void update(const std::vector<int64_t>& images, const Tensor& embeddings);

  /// The pool as it is now is what the next epoch is planned from.
  void begin_epoch();

  /// What the epoch is planned from; valid until the next begin_epoch().
  EmbeddingPool planned_from() const;

  /// What a checkpoint keeps: live tensors.
  NamedTensors state() const;

 private:
  std::map<int64_t, int64_t> rows_;  ///< Of the positions.
  Tensor now_;                       ///< [images, dim] float32, on the CPU
  Tensor at_start_;                  ///< The same, when the epoch began.
};

}  // namespace kith
