#pragma once

// What the row engine does besides products and the losses' own kernels:
// similarities and gradients within classes, and the mixing of SiMix. Plain
// structs, without LibTorch; cpu/ and cuda/ have an implementation each.

#include "kith/ops/rows/table.h"

namespace kith {

/// Rows x [rows, dim], columns y [columns, dim], both contiguous, and the range
/// of columns of each row's class, as in RowTable.
template <class T>
struct ClassPairs {
  const T* x = nullptr;
  const T* y = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t dim = 0;
  const int64_t* first = nullptr;  ///< [rows]
  const int64_t* last = nullptr;   ///< [rows]
  const int64_t* slot = nullptr;   ///< [rows]
  /// s = 1 - |x - y|^2 / 2 instead of the inner product x . y; the same for
  /// unit vectors, but its gradient is that of the distance.
  bool euclidean = false;
};

/// The range of rows of each column's class.
struct ColumnRanges {
  const int64_t* first = nullptr;  ///< [columns]
  const int64_t* last = nullptr;   ///< [columns]
};

/// Items of one side of a tile or of all: see SortedSet.
struct MixedItems {
  int64_t examples = 0;
  int64_t items = 0;
  const int64_t* first_parent = nullptr;   ///< [items]
  const int64_t* second_parent = nullptr;  ///< [items]
  const double* alpha = nullptr;           ///< [items]
  const int64_t* child_start = nullptr;    ///< [examples + 1]
  const int64_t* children = nullptr;
  const double* child_share = nullptr;
  int64_t example0 = 0;  ///< Number of the first example,
  int64_t item0 = 0;     ///< and of the first item.
};

/// Slots of a table of the examples' classes and of one of the items'.
template <class T>
struct MixedSlots {
  T* examples = nullptr;
  const int64_t* example_first = nullptr;  ///< [examples] as in RowTable
  const int64_t* example_last = nullptr;
  const int64_t* example_slot = nullptr;
  T* items = nullptr;
  const int64_t* item_first = nullptr;  ///< [items]
  const int64_t* item_last = nullptr;
  const int64_t* item_slot = nullptr;
};

/// The implementation for a kind of processor; null pointers without CUDA.
template <class T>
struct ClassOps {
  /// similarity[slot] of every pair within a class.
  void (*similarities)(const ClassPairs<T>&, T* similarity, const RowLaunch&);
  /// dx += sum over the row's class of gradient[slot] ds/dx. With both sides,
  /// where rows are their own columns, what x has as a column too.
  void (*row_gradients)(const ClassPairs<T>&, const T* gradient,
                        bool both_sides, T* dx, const RowLaunch&);
  /// dy += sum over the column's class of gradient[slot] ds/dy; the launch is
  /// over columns.
  void (*column_gradients)(const ClassPairs<T>&, const ColumnRanges&,
                           const T* gradient, T* dy, const RowLaunch&);
  /// mixed [row items, column items] = A tile B^T, A and B the mixtures; over
  /// the rows' items.
  void (*mix_tile)(const MixedItems& rows, const MixedItems& columns,
                   const Tile<T>& tile, const Tile<T>& mixed, const RowLaunch&);
  /// tile [row examples, column examples] = A^T mixed B; over the rows'
  /// examples. The rows of `mixed` are used up.
  void (*unmix_tile)(const MixedItems& rows, const MixedItems& columns,
                     const Tile<T>& mixed, const Tile<T>& tile,
                     const RowLaunch&);
  /// The same within classes, over all items and over all examples.
  void (*mix_slots)(const MixedItems&, const MixedSlots<T>&, const RowLaunch&);
  void (*unmix_slots)(const MixedItems&, const MixedSlots<T>&,
                      const RowLaunch&);
};

template <class T>
const ClassOps<T>& cpu_class_ops();
template <class T>
const ClassOps<T>& cuda_class_ops();

}  // namespace kith
