#pragma once

// The row kernels on the GPU, around any loss of kith/losses/rows.
//
// A warp works on one row. The first walk reads a row of the tile once, four
// neighbouring columns a lane, and keeps what it sums in registers; bins lie in
// shared memory, one column of banks a lane, so that lanes never meet. In the
// second walk a block of threads takes a square of the tile: first each row's
// slopes, along the rows, then the columns' (they are rows of the same table)
// down the columns, from the copy in shared memory; its rows are padded by one
// number, so both directions are free of bank conflicts. Each number of the
// tile is read and written once.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/rows/row.h"

namespace kith::on_cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

/// The lanes of a warp that share a row. (The bodies are for the GPU only; the
/// losses are compiled for both.)
template <class T>
struct WarpTeam {
  KITH_HD int64_t lane() const {
#if defined(__CUDA_ARCH__)
    return threadIdx.x % kWarp;
#else
    return 0;
#endif
  }
  KITH_HD int64_t size() const { return kWarp; }
  KITH_HD bool leader() const { return lane() == 0; }
  KITH_HD void sync() const {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#endif
  }

  template <class S>
  KITH_HD S other(S x, int step) const {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(kAllLanes, x, step);
#else
    return x;
#endif
  }
  template <class S>
  KITH_HD S sum(S x) const {
    for (int step = kWarp / 2; step > 0; step /= 2) x += other(x, step);
    return x;
  }
  template <class S>
  KITH_HD S max(S x) const {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      x = max_of(x, other(x, step));
    }
    return x;
  }
  template <class S>
  KITH_HD S min(S x) const {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      x = min_of(x, other(x, step));
    }
    return x;
  }

  /// Takes in columns [0, n) but not [gap, gap_end).
  template <class Sweep>
  KITH_HD void sweep(Sweep& sweep, const T* s, int64_t n, int64_t gap,
                     int64_t gap_end) const {
    for (int64_t j = lane(); j < n; j += kWarp) {
      if (j < gap || j >= gap_end) sweep.absorb(s[j], T(1));
    }
  }

  /// The same for a row that starts at a multiple of 16 bytes.
  template <class Sweep>
  KITH_HD void sweep_aligned(Sweep& sweep, const T* s, int64_t n, int64_t gap,
                             int64_t gap_end) const {
    constexpr int kWide = 16 / sizeof(T);
    struct alignas(16) Wide {
      T s[kWide];
    };
    const int64_t whole = n / kWide * kWide;
    for (int64_t j = lane() * kWide; j < whole; j += kWarp * kWide) {
      const Wide wide = *reinterpret_cast<const Wide*>(s + j);
      if (j + kWide <= gap || j >= gap_end) {
        sweep.absorb(wide.s);
        continue;
      }
      for (int i = 0; i < kWide; ++i) {
        if (j + i < gap || j + i >= gap_end) sweep.absorb(wide.s[i], T(1));
      }
    }
    const int64_t j = whole + lane();
    if (j < n && (j < gap || j >= gap_end)) sweep.absorb(s[j], T(1));
  }

  /// Slopes of n columns; `from` and `to` may be the same.
  template <class Slope>
  KITH_HD void apply(const Slope& slope, const T* from, T* to,
                     int64_t n) const {
    for (int64_t j = lane(); j < n; j += kWarp) {
      T s[1] = {from[j]};
      slope.apply(s);
      to[j] = s[0];
    }
  }
};

enum class Step { kOpen, kSettle, kClose };

constexpr int kRowThreads = 128;

template <template <class> class Row, class T, Step step>
__global__ void __launch_bounds__(kRowThreads)
    row_kernel(const __grid_constant__ typename Row<T>::Params params,
               RowTable<T> table) {
  const int64_t i = (int64_t{blockIdx.x} * kRowThreads + threadIdx.x) / kWarp;
  if (i >= table.count) return;
  const Row<T> loss(params);
  const RowView<T> row = view_row(table, loss.sizes(), i);
  if constexpr (step == Step::kOpen) loss.open(WarpTeam<T>(), row);
  if constexpr (step == Step::kSettle) loss.settle(WarpTeam<T>(), row);
  if constexpr (step == Step::kClose) {
    using Slope = typename Row<T>::Slope;
    loss.close(WarpTeam<T>(), row);
    spoil_if_not_finite(WarpTeam<T>(), row);
    __syncwarp();
    // The second walk reads slopes many times: made once.
    if (WarpTeam<T>().leader()) {
      static_cast<Slope*>(table.slopes)[i] = Slope(loss, row);
    }
  }
}

template <template <class> class Row, class T>
__global__ void __launch_bounds__(kRowThreads)
    absorb_kernel(const __grid_constant__ typename Row<T>::Params params,
                  RowTable<T> table, Tile<T> tile) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int warp = threadIdx.x / kWarp;
  const int64_t i = int64_t{blockIdx.x} * (blockDim.x / kWarp) + warp;
  if (i >= tile.rows) return;
  const Row<T> loss(params);
  const RowSizes sizes = loss.sizes();
  const RowView<T> row = view_row(table, sizes, tile.row0 + i);
  T* scratch = reinterpret_cast<T*>(shared) + warp * kWarp * sizes.scratch +
               threadIdx.x % kWarp;
  const int64_t gap = table.first[row.index] - tile.col0;
  for (int64_t pass = 0; pass < Row<T>::Sweep::passes(loss, row); ++pass) {
    typename Row<T>::Sweep sweep(loss, row, pass, scratch);
    WarpTeam<T>().sweep_aligned(sweep, tile.data + i * tile.stride, tile.cols,
                                gap, gap + row.size);
    sweep.store(WarpTeam<T>());
  }
}

constexpr int kSlopeThreads = 256;
/// Edge of the square of a block of threads, by its shared memory.
template <class T>
constexpr int kSquare = sizeof(T) == sizeof(float) ? 64 : 32;

/// What a block of threads knows of its rows or of its columns.
template <class Slope, int edge>
struct Lines {
  Slope slope[edge];
  int gap[edge];      ///< Its own class begins here in the square,
  int gap_end[edge];  ///< and ends here.
};

/// Fills in lines [0, count), which are the rows of the table from `index0` on
/// and look across from column `across0` on. Called by all threads.
template <class T, class Slope, int edge>
__device__ void load_lines(const RowTable<T>& table, int64_t index0,
                           int64_t across0, int count,
                           Lines<Slope, edge>& lines) {
  static_assert(sizeof(Slope) % sizeof(int) == 0);
  const int* from = reinterpret_cast<const int*>(
      static_cast<const Slope*>(table.slopes) + index0);
  int* to = reinterpret_cast<int*>(lines.slope);
  const int words = count * static_cast<int>(sizeof(Slope) / sizeof(int));
  for (int w = threadIdx.x; w < words; w += kSlopeThreads) to[w] = from[w];
  if (threadIdx.x >= count) return;
  const int64_t i = index0 + threadIdx.x;
  lines.gap[threadIdx.x] = static_cast<int>(
      min_of<int64_t>(max_of<int64_t>(table.first[i] - across0, 0), edge));
  lines.gap_end[threadIdx.x] = static_cast<int>(
      min_of<int64_t>(max_of<int64_t>(table.last[i] - across0, 0), edge));
}

template <template <class> class Row, class T>
__global__ void __launch_bounds__(kSlopeThreads)
    slope_kernel(RowTable<T> table, Tile<T> tile, bool both_sides) {
  constexpr int kEdge = kSquare<T>;
  constexpr int kEach = kEdge / kWarp;  // numbers of a line a lane has
  constexpr int kWarps = kSlopeThreads / kWarp;
  using Slope = typename Row<T>::Slope;
  __shared__ T similarity[kEdge][kEdge + 1];
  __shared__ T slopes[kEdge][kEdge + 1];
  __shared__ alignas(16) unsigned char row_store[sizeof(Lines<Slope, kEdge>)];
  __shared__ alignas(16) unsigned char col_store[sizeof(Lines<Slope, kEdge>)];
  auto& row_lines = reinterpret_cast<Lines<Slope, kEdge>&>(row_store);
  auto& col_lines = reinterpret_cast<Lines<Slope, kEdge>&>(col_store);
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int64_t row0 = int64_t{blockIdx.y} * kEdge;
  const int64_t col0 = int64_t{blockIdx.x} * kEdge;
  const int rows = static_cast<int>(min_of<int64_t>(kEdge, tile.rows - row0));
  const int cols = static_cast<int>(min_of<int64_t>(kEdge, tile.cols - col0));
  load_lines(table, tile.row0 + row0, tile.col0 + col0, rows, row_lines);
  if (both_sides) {
    load_lines(table, tile.col0 + col0, tile.row0 + row0, cols, col_lines);
  }
  __syncthreads();

  for (int r = warp; r < rows; r += kWarps) {
    T* line = tile.data + (row0 + r) * tile.stride + col0;
    T s[kEach];
    KITH_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const int c = lane + k * kWarp;
      s[k] = c < cols ? line[c] : T(0);
      similarity[r][c] = s[k];
    }
    row_lines.slope[r].apply(s);
    const int gap = row_lines.gap[r];
    const int gap_end = row_lines.gap_end[r];
    KITH_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const int c = lane + k * kWarp;
      const T g = c >= gap && c < gap_end ? T(0) : s[k];
      if (both_sides) {
        slopes[r][c] = g;
      } else if (c < cols) {
        line[c] = g;
      }
    }
  }
  if (!both_sides) return;
  __syncthreads();
  for (int c = warp; c < cols; c += kWarps) {
    T s[kEach];
    KITH_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const int r = lane + k * kWarp;
      s[k] = r < rows ? similarity[r][c] : T(0);
    }
    col_lines.slope[c].apply(s);
    const int gap = col_lines.gap[c];
    const int gap_end = col_lines.gap_end[c];
    KITH_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const int r = lane + k * kWarp;
      if (r < rows && (r < gap || r >= gap_end)) slopes[r][c] += s[k];
    }
  }
  __syncthreads();
  for (int r = warp; r < rows; r += kWarps) {
    T* line = tile.data + (row0 + r) * tile.stride + col0;
    KITH_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const int c = lane + k * kWarp;
      if (c < cols) line[c] = slopes[r][c];
    }
  }
}

template <template <class> class Row, class T>
struct GpuRows {
  using Params = typename Row<T>::Params;

  static const Params& of(const void* params) {
    return *static_cast<const Params*>(params);
  }
  static cudaStream_t stream(const RowLaunch& launch) {
    return static_cast<cudaStream_t>(launch.stream);
  }

  static RowSizes sizes(const void* params) {
    RowSizes sizes = Row<T>(of(params)).sizes();
    sizes.slope_bytes = sizeof(typename Row<T>::Slope);
    return sizes;
  }

  template <Step step>
  static void rows(const void* params, const RowTable<T>& table,
                   const RowLaunch& launch) {
    row_kernel<Row, T, step>
        <<<blocks_for(table.count, kRowThreads / kWarp), kRowThreads, 0,
           stream(launch)>>>(of(params), table);
    check_cuda(cudaGetLastError(), "row_kernel");
  }

  static void absorb(const void* params, const RowTable<T>& table,
                     const Tile<T>& tile, const RowLaunch& launch) {
    const auto bytes = static_cast<size_t>(sizes(params).scratch) * kWarp *
                       sizeof(T);  // a warp
    int warps = kRowThreads / kWarp;
    while (warps > 1 && bytes * warps > 100 * 1024) warps /= 2;
    if (bytes * warps > 48 * 1024) {
      check_cuda(
          cudaFuncSetAttribute(absorb_kernel<Row, T>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes * warps)),
          "absorb_kernel's shared memory");
    }
    absorb_kernel<Row, T>
        <<<blocks_for(tile.rows, warps), warps * kWarp, bytes * warps,
           stream(launch)>>>(of(params), table, tile);
    check_cuda(cudaGetLastError(), "absorb_kernel");
  }

  static void slope(const void* /*params*/, const RowTable<T>& table,
                    const Tile<T>& tile, bool both_sides,
                    const RowLaunch& launch) {
    const dim3 grid(blocks_for(tile.cols, kSquare<T>),
                    blocks_for(tile.rows, kSquare<T>));
    slope_kernel<Row, T>
        <<<grid, kSlopeThreads, 0, stream(launch)>>>(table, tile, both_sides);
    check_cuda(cudaGetLastError(), "slope_kernel");
  }

  static constexpr RowKernels<T> kernels() {
    return {sizes,
            rows<Step::kOpen>,
            absorb,
            rows<Step::kSettle>,
            rows<Step::kClose>,
            slope};
  }
};

}  // namespace kith::on_cuda
