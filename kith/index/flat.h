#pragma once

#include "kith/index/rows.h"

namespace kith {

struct Neighbours {
  Tensor indices;       ///< [Q, k] int64, nearest first; -1 where none is left.
  Tensor similarities;  ///< [Q, k] float32; -inf where none is left.
  /// [Q] float32, if asked for: similarities of the farthest items, among which
  /// the excluded ones are.
  Tensor farthest = {};
};

struct SearchOptions {
  int64_t k = 1;
  int64_t memory_mb = 256;  ///< For blocks of similarities and of rows.
  bool farthest = false;    ///< Neighbours::farthest; of one item and more.
};

/// Exact nearest neighbours by inner product, in blocks of similarities that
/// fit a memory budget. queries [Q, D] and gallery [N, D] are on one device;
/// the result is on the CPU.
///
/// `excluded` ([Q] int64, or undefined) names the gallery item each query must
/// not find, its own; -1 for none. Equal similarities are ordered
/// by position in the gallery, lower first. k is cut to N. DataError names a
/// row that cannot be compared: see longest_row.
///
/// Products only filter (filter_product.h): those that could be among the k
/// nearest are summed again in double and rounded once. The order is exact, and
/// the same on CPU and GPU.
///
/// Of a gallery that ranks share or divide (shared_rows.h) each searches its
/// own items, and all get the same neighbours. All call it with the same
/// arguments.
Neighbours exact_search(const Rows& queries, const Rows& gallery,
                        const Tensor& excluded, const SearchOptions& options);

}  // namespace kith
