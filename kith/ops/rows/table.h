#pragma once

// What the row engine hands to its kernels: plain structs of pointers and
// sizes, without LibTorch, for the CPU and for CUDA alike.

#include <cstdint>

namespace kith {

/// The rows (queries) of a walk. Rows and columns are sorted by label, so the
/// columns of a row's own class are one range. Everything about that range is
/// held in slots: entry slot[i] + x belongs to column first[i] + x.
template <class T>
struct RowTable {
  int64_t count = 0;
  const int64_t* first = nullptr;  ///< [count] first column of its class
  const int64_t* last = nullptr;   ///< [count] one past the last
  /// [count] its own column, or -1; null: rows are their own columns.
  const int64_t* self = nullptr;
  /// [count] the column of its one positive; null: all of its class are.
  const int64_t* target = nullptr;
  const int64_t* slot = nullptr;  ///< [count] its first slot
  int64_t slots = 0;              ///< Slots of all rows.
  T* similarity = nullptr;        ///< [slots] to the columns of its class
  T* gradient = nullptr;          ///< [slots] dL/d similarity
  T* notes = nullptr;             ///< [slot_fields, slots] the loss's own
  T* fields = nullptr;            ///< [count, fields] the loss's own
  void* slopes = nullptr;         ///< [count] the loss's slopes, on a GPU
  double* value = nullptr;        ///< [count] its part of the loss
  double* shares = nullptr;       ///< [count, totals] its part of the totals
  /// [totals] their sums, once all rows are in.
  const double* totals = nullptr;
};

/// A block of similarities between rows row0.. and columns col0.. of a walk.
template <class T>
struct Tile {
  T* data = nullptr;  ///< [rows, cols], rows `stride` apart
  int64_t stride = 0;
  int64_t row0 = 0;
  int64_t rows = 0;
  int64_t col0 = 0;
  int64_t cols = 0;
};

/// How many numbers a loss keeps.
struct RowSizes {
  int64_t fields = 0;       ///< a row
  int64_t slot_fields = 0;  ///< a slot
  int64_t totals = 0;       ///< in all
  int64_t scratch = 0;      ///< a row while it is swept
  int64_t slope_bytes = 0;  ///< a row, of RowTable::slopes
};

/// Where kernels run: rows [begin, end) of the table or tile on the CPU, by the
/// thread that calls; all rows on the stream of a GPU.
struct RowLaunch {
  int64_t begin = 0;
  int64_t end = 0;
  void* stream = nullptr;
};

/// The kernels of one loss in one precision for one kind of processor. `loss`
/// points to its parameters.
template <class T>
struct RowKernels {
  RowSizes (*sizes)(const void* loss) = nullptr;
  /// From the similarities within the class to the start of a sweep.
  void (*open)(const void* loss, const RowTable<T>& rows,
               const RowLaunch& launch) = nullptr;
  /// Takes in a tile; columns of a row's own class are passed over.
  void (*absorb)(const void* loss, const RowTable<T>& rows, const Tile<T>& tile,
                 const RowLaunch& launch) = nullptr;
  /// Takes in the transpose of a tile, whose columns are rows of the same
  /// table. Null on the CPU, where tiles are turned for absorb(), and for
  /// losses with scratch.
  void (*absorb_columns)(const void* loss, const RowTable<T>& rows,
                         const Tile<T>& tile,
                         const RowLaunch& launch) = nullptr;
  /// When all tiles are in: each row's part of the totals.
  void (*settle)(const void* loss, const RowTable<T>& rows,
                 const RowLaunch& launch) = nullptr;
  /// With the totals: values, gradients within the class, and what the
  /// gradient of the tiles needs.
  void (*close)(const void* loss, const RowTable<T>& rows,
                const RowLaunch& launch) = nullptr;
  /// Overwrites a tile with dL/ds, zero in the row's own class. With `columns`,
  /// which are rows of the same table, adds what they have of the transpose.
  void (*slope)(const void* loss, const RowTable<T>& rows, const Tile<T>& tile,
                bool both_sides, const RowLaunch& launch) = nullptr;
  /// The same, rounded to bfloat16 and written to `to`, whose rows are as many
  /// numbers apart as the tile's, which stays as it is. For float32 on a GPU;
  /// null on the CPU.
  void (*slope_bf16)(const void* loss, const RowTable<T>& rows,
                     const Tile<T>& tile, bool both_sides, void* to,
                     const RowLaunch& launch) = nullptr;
};

}  // namespace kith
