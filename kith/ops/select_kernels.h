#pragma once

// The nearest items of a block of similarities, merged with those of earlier
// blocks. Plain structs, without LibTorch; cpu/ and cuda/ have an
// implementation each. The one of the CPU says what is computed, in few lines;
// exact_search() on the CPU has a faster way.

#include "kith/ops/rows/table.h"

namespace kith {

/// The largest k of a SelectBlock.
constexpr int64_t kMostSelected = 1024;

/// A block of similarities [queries, items], near the exact ones, and the k
/// nearest items that each query has found in the gallery before the block. The
/// blocks of a gallery follow each other.
struct SelectBlock {
  /// That of the excluded item is overwritten, and so may be what follows a
  /// row's items up to the next multiple of 4.
  float* similarity = nullptr;
  int64_t query_stride = 0;  ///< From a query to the next; a multiple of 4.
  int64_t items = 0;         ///< Less than 2^30.
  int64_t item0 = 0;         ///< Gallery position of the first item.
  const float* queries = nullptr;  ///< [queries, dim], contiguous,
  const float* gallery = nullptr;  ///< [items, dim]: for exact similarities.
  int64_t dim = 0;
  const int64_t* exclude = nullptr;  ///< [queries] gallery positions; or null
  /// [queries] how far a similarity of the block can be from the exact one.
  const float* slack = nullptr;
  int64_t k = 0;  ///< 1 to kMostSelected
  /// [queries, k] exact similarities of the nearest items, nearest first, and
  /// their gallery positions; -infinity and -1 behind the last. Of equal ones
  /// the lower position is nearer.
  float* nearest = nullptr;
  int64_t* position = nullptr;
};

/// Over the block's queries. The one for CUDA does nothing in a build without.
void select_on_cpu(const SelectBlock& block, const RowLaunch& launch);
void select_on_cuda(const SelectBlock& block, const RowLaunch& launch);

}  // namespace kith
