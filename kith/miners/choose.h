#pragma once

#include "kith/core/rng.h"
#include "kith/core/tensor.h"

namespace kith {

/// [draws, count] double in [0, 1), drawn on the host, so that every device
/// gets the same numbers, and copied to `device` at once.
Tensor draw_uniform(Rng& rng, int64_t draws, int64_t count, c10::Device device);

/// floor(u * count), exactly below count: a number of 0 to count - 1 for each
/// u in [0, 1); 0 where the count is 0. `count` is of an integer type, which
/// the result has.
Tensor which_of(const Tensor& u, const Tensor& count);

/// A choice in each row of a matrix.
struct Choice {
  Tensor position;  ///< [R] int64; 0 where nothing can be chosen.
  Tensor found;     ///< [R] bool: whether something could be.
};

/// One true column of each row of `mask` [R, C], C > 0, uniformly by `u` [R].
Choice choose_uniform(const Tensor& mask, const Tensor& u);

/// One column of each row with probability proportional to `weights` [R, C]
/// of an integer type, C > 0, whose sums must be below 2^53 and fit in it.
/// Integers, for their sums are the same in any order: a parallel running sum
/// of floating point numbers may rise where a weight is zero. Overwrites the
/// weights.
Choice choose_weighted(Tensor weights, const Tensor& u);

/// [T, 3] int64: the examples with `keep` [M] bool as anchors, with their
/// positive and negative [M] int64.
Tensor triplets(const Tensor& keep, const Tensor& positives,
                const Tensor& negatives);

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
