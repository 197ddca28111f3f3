#pragma once

// Ranks by counting: how many items of a block of similarities are nearer to a
// query than each of some wanted items. Plain structs, without LibTorch; cpu/
// and cuda/ have an implementation each.

#include "kith/ops/rows/table.h"

namespace kith {

/// Pairs of rows of x and y [., dim], contiguous.
struct RowPairs {
  const float* x = nullptr;
  const float* y = nullptr;
  int64_t dim = 0;
  /// [pairs]; on the CPU null: the first row is that of all.
  const int64_t* x_row = nullptr;
  const int64_t* y_row = nullptr;  ///< [pairs]
  float* similarity = nullptr;     ///< [pairs]
};

/// A block of similarities [queries, items], near the exact ones, and the
/// wanted items of its queries. Those of query r are offsets[r] to
/// offsets[r + 1] - 1, the farthest first: by rising similarity, and of equal
/// ones the later in the gallery first.
struct RankBlock {
  const float* similarity = nullptr;
  int64_t query_stride = 0;  ///< From a query to the next one.
  int64_t item_stride = 1;   ///< From an item to the next; 1 on a GPU.
  int64_t items = 0;
  int64_t item0 = 0;               ///< Gallery position of the first item.
  const float* queries = nullptr;  ///< [queries, dim], contiguous,
  const float* gallery = nullptr;  ///< [items, dim]: for exact similarities.
  int64_t dim = 0;
  const int64_t* exclude = nullptr;  ///< [queries] gallery positions; or null
  /// [queries] how far a similarity of the block can be from the exact one.
  const float* slack = nullptr;
  const int64_t* offsets = nullptr;  ///< [queries + 1]
  const float* threshold = nullptr;  ///< Exact similarity of a wanted item.
  const int64_t* wanted = nullptr;   ///< Its gallery position.
  /// Gets the items added that are nearer than this wanted item and not nearer
  /// than the next one: summed up from the query's last, the nearer ones.
  int64_t* count = nullptr;
};

/// The implementation for a kind of processor; null pointers without CUDA.
struct RankKernels {
  /// The exact similarity of every pair; over pairs.
  void (*similarities)(const RowPairs&, const RowLaunch&) = nullptr;
  /// Counts the block's items; over its queries.
  void (*count)(const RankBlock&, const RowLaunch&) = nullptr;
};

extern const RankKernels plain_ranks;
extern const RankKernels avx2_ranks;
extern const RankKernels avx512_ranks;
extern const RankKernels cuda_ranks;

}  // namespace kith
