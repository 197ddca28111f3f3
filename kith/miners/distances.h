#pragma once

#include "kith/core/tensor.h"

namespace kith {

// What miners compare: from inner products in full precision, without a graph.
// Fast, and good to about 1e-7 in D^2, so that near duplicates (D < 1e-3 in
// float32) are all alike. A miner chooses by distances; it returns none.
// c10::ValueError names the row with a NaN or infinite value, or says that
// squares overflow.

/// [M, D] -> [M, M]: inner products, the cosines of unit vectors.
Tensor mining_products(const Tensor& embeddings);

/// [M, D] -> [M, M]: |x_i - x_j|^2, never below 0.
Tensor mining_squares(const Tensor& embeddings);

/// [M, D] -> [M, M]: |x_i - x_j|.
Tensor mining_distances(const Tensor& embeddings);

/// [M] int64 -> [M, M] bool: of one class; an example with itself, too.
Tensor same_class(const Tensor& labels);

/// Two [M, M] matrices of distances (or similarities) by sign: where a pair is
/// not of that sign it has a value that no choice prefers.
struct SplitPairs {
  Tensor positive;
  Tensor negative;
};
SplitPairs split_pairs(const Tensor& values, const Tensor& labels,
                       double no_positive, double no_negative);

}  // namespace kith
