#pragma once

#include "kith/core/tensor.h"

namespace kith {

struct Neighbours {
  Tensor indices;       ///< [Q, k] int64, nearest first; -1 where none is left.
  Tensor similarities;  ///< [Q, k] float32; -inf where none is left.
};

struct SearchOptions {
  int64_t k = 1;
  int64_t memory_mb = 256;  ///< For the block of similarities.
};

/// Exact nearest neighbours by inner product, in blocks of similarities that
/// fit a memory budget. queries [Q, D], gallery [N, D], float32, same device.
///
/// `exclude` ([Q] int64 on the CPU, or undefined) names the gallery item each
/// query must not find, its own; -1 for none. Equal similarities are ordered
/// by position in the gallery, lower first. k is cut to N.
Neighbours exact_search(const Tensor& queries, const Tensor& gallery,
                        const Tensor& exclude, const SearchOptions& options);

}  // namespace kith
