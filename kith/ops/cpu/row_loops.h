#pragma once

// The loops of the row kernels on the CPU, around any loss of
// kith/losses/rows. Rows are handed out to threads by the caller; each row is
// computed by one thread in one order, so results do not depend on the number
// of threads.

#include <cstddef>

#include "kith/ops/rows/row.h"

namespace kith::KITH_ROWS {

/// One thread that works on a row with vectors.
template <class T>
struct CpuTeam {
  using V = Vec<T>;
  static constexpr int64_t kLanes = kWidth<T>;
  static constexpr int64_t kAtOnce = 4;  ///< Vectors at a time.

  int64_t lane() const { return 0; }
  int64_t size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  template <class S>
  S min(S x) const {
    return x;
  }
  template <class S>
  S max(S x) const {
    return x;
  }
  double sum(double x) const { return x; }
  float sum(float x) const { return x; }
  T sum(V x) const {
    T total = 0;
    for (int i = 0; i < kLanes; ++i) total += x[i];
    return total;
  }
  T max(V x) const {
    T most = x[0];
    for (int i = 1; i < kLanes; ++i) most = max_of<T>(most, x[i]);
    return most;
  }

  static V load(const T* from) {
    V x;
    __builtin_memcpy(&x, from, sizeof(V));
    return x;
  }
  static void save(T* to, V x) { __builtin_memcpy(to, &x, sizeof(V)); }

  /// Takes in columns [0, n) but not [gap, gap_end).
  template <class Sweep>
  void sweep(Sweep& sweep, const T* s, int64_t n, int64_t gap,
             int64_t gap_end) const {
    constexpr int64_t kStep = kAtOnce * kLanes;
    for (int64_t j = 0; j < n; j += kStep) {
      const int64_t end = j + kStep;
      if (end <= n && (end <= gap || j >= gap_end)) {
        V some[kAtOnce];
        for (int i = 0; i < kAtOnce; ++i) some[i] = load(s + j + i * kLanes);
        sweep.absorb(some);
      } else {
        sweep_some(sweep, s, j, min_of(end, n), gap, gap_end);
      }
    }
  }

  /// The same for columns [begin, end) around the gap.
  template <class Sweep>
  void sweep_some(Sweep& sweep, const T* s, int64_t begin, int64_t end,
                  int64_t gap, int64_t gap_end) const {
    for (int64_t j = begin; j < end; j += kLanes) {
      V values = {};
      V used = {};
      bool any = false;
      for (int64_t i = j; i < min_of<int64_t>(j + kLanes, end); ++i) {
        if (i >= gap && i < gap_end) continue;
        values[i - j] = s[i];
        used[i - j] = 1;
        any = true;
      }
      if (any) sweep.absorb(values, used);
    }
  }

  /// Slopes of n columns; `from` and `to` may be the same.
  template <class Slope>
  void apply(const Slope& slope, const T* from, T* to, int64_t n) const {
    int64_t j = 0;
    for (; j + kAtOnce * kLanes <= n; j += kAtOnce * kLanes) {
      V s[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) s[i] = load(from + j + i * kLanes);
      slope.apply(s);
      for (int i = 0; i < kAtOnce; ++i) save(to + j + i * kLanes, s[i]);
    }
    for (; j < n; j += kLanes) {
      const int64_t left = min_of<int64_t>(kLanes, n - j);
      V s[1] = {};
      for (int64_t i = 0; i < left; ++i) s[0][i] = from[j + i];
      slope.apply(s);
      for (int64_t i = 0; i < left; ++i) to[j + i] = s[0][i];
    }
  }
};

template <template <class> class Row, class T>
struct CpuRows {
  using Loss = Row<T>;
  using Params = typename Loss::Params;
  using Team = CpuTeam<T>;
  static_assert(RowFunction<Loss, T, Team>);

  static Loss loss_of(const void* params) {
    return Loss(*static_cast<const Params*>(params));
  }

  static RowSizes sizes(const void* params) { return loss_of(params).sizes(); }

  static void open(const void* params, const RowTable<T>& table,
                   const RowLaunch& launch) {
    const Loss loss = loss_of(params);
    for (int64_t i = launch.begin; i < launch.end; ++i) {
      const RowView<T> row = view_row(table, loss.sizes(), i);
      loss.open(Team(), row);
    }
  }

  static void settle(const void* params, const RowTable<T>& table,
                     const RowLaunch& launch) {
    const Loss loss = loss_of(params);
    for (int64_t i = launch.begin; i < launch.end; ++i) {
      const RowView<T> row = view_row(table, loss.sizes(), i);
      loss.settle(Team(), row);
    }
  }

  static void close(const void* params, const RowTable<T>& table,
                    const RowLaunch& launch) {
    const Loss loss = loss_of(params);
    for (int64_t i = launch.begin; i < launch.end; ++i) {
      const RowView<T> row = view_row(table, loss.sizes(), i);
      loss.close(Team(), row);
      spoil_if_not_finite(Team(), row);
    }
  }

  static void absorb(const void* params, const RowTable<T>& table,
                     const Tile<T>& tile, const RowLaunch& launch) {
    const Loss loss = loss_of(params);
    const RowSizes sizes = loss.sizes();
    T* scratch = static_cast<T*>(
        __builtin_alloca(sizeof(T) * static_cast<size_t>(sizes.scratch + 1)));
    for (int64_t i = launch.begin; i < launch.end; ++i) {
      const RowView<T> row = view_row(table, sizes, tile.row0 + i);
      const int64_t gap = table.first[row.index] - tile.col0;
      for (int64_t pass = 0; pass < Loss::Sweep::passes(loss, row); ++pass) {
        typename Loss::Sweep sweep(loss, row, pass, scratch);
        Team().sweep(sweep, tile.data + i * tile.stride, tile.cols, gap,
                     gap + row.size);
        sweep.store(Team());
      }
    }
  }

  static void slope(const void* params, const RowTable<T>& table,
                    const Tile<T>& tile, bool both_sides,
                    const RowLaunch& launch) {
    const Loss loss = loss_of(params);
    if (!both_sides) {
      for (int64_t i = launch.begin; i < launch.end; ++i) {
        one_side(loss, table, tile.row0 + i, tile.col0, tile.cols,
                 tile.data + i * tile.stride, tile.data + i * tile.stride);
      }
      return;
    }
    for (int64_t i = launch.begin; i < launch.end; i += kBlock) {
      for (int64_t j = 0; j < tile.cols; j += kBlock) {
        Tile<T> block = tile;
        block.data = tile.data + i * tile.stride + j;
        block.row0 = tile.row0 + i;
        block.rows = min_of(kBlock, launch.end - i);
        block.col0 = tile.col0 + j;
        block.cols = min_of(kBlock, tile.cols - j);
        two_sides(loss, table, block);
      }
    }
  }

  static constexpr RowKernels<T> kernels() {
    return {sizes, open, absorb, nullptr, settle, close, slope};
  }

 private:
  static constexpr int64_t kBlock = 64;

  /// Slopes of row i at n columns from col0 on.
  static void one_side(const Loss& loss, const RowTable<T>& table, int64_t i,
                       int64_t col0, int64_t n, const T* from, T* to) {
    const RowView<T> row = view_row(table, loss.sizes(), i);
    const typename Loss::Slope slope(loss, row);
    Team().apply(slope, from, to, n);
    const int64_t begin = max_of<int64_t>(table.first[i] - col0, 0);
    const int64_t end = min_of(table.last[i] - col0, n);
    for (int64_t j = begin; j < end; ++j) to[j] = 0;
  }

  /// The columns' side is their rows' side of the transposed block.
  static void two_sides(const Loss& loss, const RowTable<T>& table,
                        const Tile<T>& block) {
    T turned[kBlock * kBlock];
    for (int64_t i = 0; i < block.rows; ++i) {
      for (int64_t j = 0; j < block.cols; ++j) {
        turned[j * kBlock + i] = block.data[i * block.stride + j];
      }
    }
    for (int64_t i = 0; i < block.rows; ++i) {
      T* row = block.data + i * block.stride;
      one_side(loss, table, block.row0 + i, block.col0, block.cols, row, row);
    }
    for (int64_t j = 0; j < block.cols; ++j) {
      T* row = turned + j * kBlock;
      one_side(loss, table, block.col0 + j, block.row0, block.rows, row, row);
    }
    for (int64_t i = 0; i < block.rows; ++i) {
      for (int64_t j = 0; j < block.cols; ++j) {
        block.data[i * block.stride + j] += turned[j * kBlock + i];
      }
    }
  }
};

}  // namespace kith::KITH_ROWS
