#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// The positions of a batch sorted by class, so that a class is a stretch of
/// them: positives and negatives of every example are drawn in O(M) memory.
class ClassPlaces {
 public:
  /// labels [M] int64. O(M log M) time.
  explicit ClassPlaces(const Tensor& labels);

  /// [M] bool: whether an example has a positive and a negative.
  Tensor complete() const;

  /// [M] int64: for each example one of its positives, uniformly by `u` [M]
  /// in [0, 1); the example itself if it has none.
  Tensor positives(const Tensor& u) const;

  /// The same for negatives; an example without any gets any position.
  Tensor negatives(const Tensor& u) const;

 private:
  int64_t count_ = 0;
  Tensor order_;  ///< [M] positions by class.
  Tensor place_;  ///< [M] where an example is in order_.
  Tensor first_;  ///< [M] where its class begins.
  Tensor size_;   ///< [M] of its class.
};

}  // namespace kith
