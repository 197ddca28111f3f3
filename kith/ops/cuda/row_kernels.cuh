#pragma once

// The row kernels on the GPU, around any loss of kith/losses/rows.
//
// A warp works on one row. The first walk reads a row of the tile once, four
// neighbouring columns a lane, and keeps what it sums in registers; bins lie in
// shared memory, one column of banks a lane, so that lanes never meet. In the
// second walk a block of threads takes a square of the tile to registers, a few
// numbers in each direction a thread, and what it must know of its rows and
// columns to shared memory: the columns' slopes (they are rows of the same
// table) go down the columns and the rows' along the rows. Each number of the
// tile is read and written once; of a tile that is its own mirror image half
// the squares are read.
//
// Where a tile stands for its transpose in the first walk too, each lane has a
// column, which is a row of the table, and goes down the tile.

#include <type_traits>

#include <cuda_bf16.h>

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
    _Pragma("unroll 2")  // the next load before this one is used up
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

/// A lane that has a row for itself.
template <class T>
struct LaneTeam {
  KITH_HD int64_t lane() const { return 0; }
  KITH_HD int64_t size() const { return 1; }
  KITH_HD bool leader() const { return true; }
  KITH_HD void sync() const {}
  template <class S>
  KITH_HD S sum(S x) const {
    return x;
  }
  template <class S>
  KITH_HD S max(S x) const {
    return x;
  }
  template <class S>
  KITH_HD S min(S x) const {
    return x;
  }

  /// Takes in rows [begin, end) of a column, `stride` apart, but not [gap,
  /// gap_end).
  template <class Sweep>
  KITH_HD void sweep(Sweep& sweep, const T* s, int64_t stride, int64_t begin,
                     int64_t end, int64_t gap, int64_t gap_end) const {
    constexpr int kAtOnce = 4;
    int64_t i = begin;
    for (; i + kAtOnce <= end; i += kAtOnce) {
      T some[kAtOnce];
      KITH_UNROLL
      for (int k = 0; k < kAtOnce; ++k) some[k] = s[(i + k) * stride];
      if (i + kAtOnce <= gap || i >= gap_end) {
        sweep.absorb(some);
        continue;
      }
      for (int k = 0; k < kAtOnce; ++k) {
        if (i + k < gap || i + k >= gap_end) sweep.absorb(some[k], T(1));
      }
    }
    for (; i < end; ++i) {
      if (i < gap || i >= gap_end) sweep.absorb(s[i * stride], T(1));
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

/// Warps that share 32 columns: each takes some of the rows, and adds what it
/// has found in its turn.
constexpr int kColumnWarps = 16;

template <template <class> class Row, class T>
__global__ void __launch_bounds__(kColumnWarps* kWarp)
    absorb_columns_kernel(const __grid_constant__
                          typename Row<T>::Params params,
                          RowTable<T> table, Tile<T> tile) {
  using Sweep = typename Row<T>::Sweep;
  const int warp = threadIdx.x / kWarp;
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x % kWarp;
  const bool is_there = column < tile.cols;
  // A lane without a column follows the last one, and stores nothing.
  const int64_t j = is_there ? column : tile.cols - 1;
  const Row<T> loss(params);
  const RowView<T> row = view_row(table, loss.sizes(), tile.col0 + j);
  const int64_t gap = table.first[row.index] - tile.row0;
  const int64_t each = (tile.rows + kColumnWarps - 1) / kColumnWarps;
  const int64_t begin = min_of(warp * each, tile.rows);
  const int64_t end = min_of(begin + each, tile.rows);
  const int64_t passes = is_there ? Sweep::passes(loss, row) : 0;
  for (int64_t pass = 0; __syncthreads_or(pass < passes); ++pass) {
    const bool is_working = pass < passes;
    Sweep sweep(loss, row, is_working ? pass : 0, nullptr);
    if (is_working) {
      LaneTeam<T>().sweep(sweep, tile.data + j, tile.stride, begin, end, gap,
                          gap + row.size);
    }
    for (int turn = 0; turn < kColumnWarps; ++turn) {
      if (is_working && warp == turn && begin < end) {
        sweep.store(LaneTeam<T>());
      }
      __syncthreads();
    }
  }
}

/// Threads of a block along each edge of its square, and the numbers in each
/// direction that one of them has.
constexpr int kSquareThreads = 16;
constexpr int kSlopeThreads = kSquareThreads * kSquareThreads;
template <class T>
constexpr int kEach = sizeof(T) == sizeof(float) ? 4 : 2;
template <class T>
constexpr int kSquare = kSquareThreads* kEach<T>;
/// What waits for memory or for the special functions is many: as many blocks
/// share a multiprocessor as registers allow without spilling.
constexpr int kSlopeBlocks = 4;

/// What a block of threads knows of its rows or of its columns. 16 lanes that
/// read a slope each meet no bank twice where its size is an odd multiple of 16
/// bytes.
template <class Slope, int edge>
struct Lines {
  alignas(16) Slope slope[edge];
  int gap[edge];      ///< Its own class begins here in the square,
  int gap_end[edge];  ///< and ends here.
};

/// Fills in lines [0, count), which are the rows of the table from `index0` on
/// and look across from column `across0` on. Called by all threads.
template <class T, class Slope, int edge>
__device__ void load_lines(const RowTable<T>& table, int64_t index0,
                           int64_t across0, int count,
                           Lines<Slope, edge>& lines) {
  using Word = std::conditional_t<sizeof(Slope) % sizeof(int4) == 0, int4, int>;
  static_assert(sizeof(Slope) % sizeof(Word) == 0);
  const Word* from = reinterpret_cast<const Word*>(
      static_cast<const Slope*>(table.slopes) + index0);
  Word* to = reinterpret_cast<Word*>(lines.slope);
  const int words = count * static_cast<int>(sizeof(Slope) / sizeof(Word));
  for (int w = threadIdx.x; w < words; w += kSlopeThreads) to[w] = from[w];
  if (threadIdx.x >= count) return;
  const int64_t i = index0 + threadIdx.x;
  lines.gap[threadIdx.x] = static_cast<int>(
      min_of<int64_t>(max_of<int64_t>(table.first[i] - across0, 0), edge));
  lines.gap_end[threadIdx.x] = static_cast<int>(
      min_of<int64_t>(max_of<int64_t>(table.last[i] - across0, 0), edge));
}

/// x as it is stored: as it is, or rounded to bfloat16.
template <class To, class T>
__device__ To stored(T x) {
  if constexpr (std::is_same_v<To, __nv_bfloat16>) {
    return __float2bfloat16(x);
  } else {
    return x;
  }
}

/// A square of a tile in registers: thread (y, x) has rows y + 16 r and columns
/// x + 16 c.
template <class T>
struct Square {
  static constexpr int kEdge = kSquare<T>;
  static constexpr int kNumbers = kEach<T>;
  T at[kNumbers][kNumbers];

  __device__ static int row(int r) {
    return threadIdx.x / kSquareThreads + r * kSquareThreads;
  }
  __device__ static int column(int c) {
    return threadIdx.x % kSquareThreads + c * kSquareThreads;
  }

  __device__ void load(const T* from, int64_t stride, int rows, int cols) {
    KITH_UNROLL
    for (int r = 0; r < kNumbers; ++r) {
      KITH_UNROLL
      for (int c = 0; c < kNumbers; ++c) {
        at[r][c] = row(r) < rows && column(c) < cols
                       ? from[row(r) * stride + column(c)]
                       : T(0);
      }
    }
  }

  template <class To>
  __device__ void store(To* to, int64_t stride, int rows, int cols) const {
    KITH_UNROLL
    for (int r = 0; r < kNumbers; ++r) {
      KITH_UNROLL
      for (int c = 0; c < kNumbers; ++c) {
        if (row(r) < rows && column(c) < cols) {
          to[row(r) * stride + column(c)] = stored<To>(at[r][c]);
        }
      }
    }
  }

  /// The transpose, through shared memory: a row of `turned` is one number
  /// longer than the square, so that what 16 lanes write down a column lies in
  /// different banks. Called by all threads.
  template <class To>
  __device__ void store_turned(T (&turned)[kEdge][kEdge + 1], To* to,
                               int64_t stride, int rows, int cols) {
    KITH_UNROLL
    for (int r = 0; r < kNumbers; ++r) {
      KITH_UNROLL
      for (int c = 0; c < kNumbers; ++c) turned[column(c)][row(r)] = at[r][c];
    }
    __syncthreads();
    KITH_UNROLL
    for (int r = 0; r < kNumbers; ++r) {
      KITH_UNROLL
      for (int c = 0; c < kNumbers; ++c) at[r][c] = turned[row(r)][column(c)];
    }
    store(to, stride, rows, cols);
  }
};

/// From similarities to the slopes of the first `cols` of `column_lines` and
/// the first `rows` of `row_lines` together; without both sides, of the rows
/// alone.
template <bool both_sides, class T, class Known>
__device__ void to_slopes(Square<T>& square, const Known& row_lines, int rows,
                          const Known& column_lines, int cols) {
  constexpr int kNumbers = Square<T>::kNumbers;
  T down[kNumbers][kNumbers] = {};  // [column, row]
  if constexpr (both_sides) {
    KITH_UNROLL
    for (int c = 0; c < kNumbers; ++c) {
      KITH_UNROLL
      for (int r = 0; r < kNumbers; ++r) down[c][r] = square.at[r][c];
      if (square.column(c) < cols) {
        column_lines.slope[square.column(c)].apply(down[c]);
      }
    }
  }
  KITH_UNROLL
  for (int r = 0; r < kNumbers; ++r) {
    const int line = square.row(r);
    if (line >= rows) continue;
    row_lines.slope[line].apply(square.at[r]);
    const int gap = row_lines.gap[line];
    const int gap_end = row_lines.gap_end[line];
    KITH_UNROLL
    for (int c = 0; c < kNumbers; ++c) {
      const int across = square.column(c);
      square.at[r][c] = across >= gap && across < gap_end
                            ? T(0)
                            : square.at[r][c] + down[c][r];
    }
  }
}

/// Slopes of a tile, written to `to`, which may be the tile itself.
template <template <class> class Row, class T, class To, bool both_sides>
__global__ void __launch_bounds__(kSlopeThreads, kSlopeBlocks)
    slope_kernel(RowTable<T> table, Tile<T> tile, To* to, int64_t to_stride) {
  constexpr int kEdge = kSquare<T>;
  using Known = Lines<typename Row<T>::Slope, kEdge>;
  using Turned = T[kEdge][kEdge + 1];
  // First the lines, then the transpose.
  constexpr size_t kLineBytes = (both_sides ? 2 : 1) * sizeof(Known);
  __shared__ alignas(16) unsigned char
      store[both_sides && sizeof(Turned) > kLineBytes ? sizeof(Turned)
                                                      : kLineBytes];
  Known* lines = reinterpret_cast<Known*>(store);
  Known& row_lines = lines[0];
  Known& column_lines = lines[both_sides ? 1 : 0];
  const int64_t row0 = int64_t{blockIdx.y} * kEdge;
  const int64_t col0 = int64_t{blockIdx.x} * kEdge;
  // Similarities are symmetric, and so are both sides' slopes together: of the
  // tile on the diagonal the squares above it stand for those below.
  const bool is_mirrored =
      both_sides && tile.row0 == tile.col0 && tile.rows == tile.cols;
  if (is_mirrored && col0 < row0) return;
  const int rows = static_cast<int>(min_of<int64_t>(kEdge, tile.rows - row0));
  const int cols = static_cast<int>(min_of<int64_t>(kEdge, tile.cols - col0));
  Square<T> square;
  square.load(tile.data + row0 * tile.stride + col0, tile.stride, rows, cols);
  load_lines(table, tile.row0 + row0, tile.col0 + col0, rows, row_lines);
  if constexpr (both_sides) {
    load_lines(table, tile.col0 + col0, tile.row0 + row0, cols, column_lines);
  }
  __syncthreads();
  to_slopes<both_sides>(square, row_lines, rows, column_lines, cols);
  square.store(to + row0 * to_stride + col0, to_stride, rows, cols);
  if constexpr (both_sides) {
    if (!is_mirrored || row0 == col0) return;
    __syncthreads();
    square.store_turned(reinterpret_cast<Turned&>(store),
                        to + col0 * to_stride + row0, to_stride, cols, rows);
  }
}

template <template <class> class Row, class T>
struct GpuRows {
  using Params = typename Row<T>::Params;
  static_assert(RowFunction<Row<T>, T, WarpTeam<T>>);

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

  static void absorb_columns(const void* params, const RowTable<T>& table,
                             const Tile<T>& tile, const RowLaunch& launch) {
    absorb_columns_kernel<Row, T>
        <<<blocks_for(tile.cols, kWarp), kColumnWarps * kWarp, 0,
           stream(launch)>>>(of(params), table, tile);
    check_cuda(cudaGetLastError(), "absorb_columns_kernel");
  }

  template <class To>
  static void slope_to(const RowTable<T>& table, const Tile<T>& tile,
                       bool both_sides, To* to, int64_t to_stride,
                       const RowLaunch& launch) {
    const dim3 grid(blocks_for(tile.cols, kSquare<T>),
                    blocks_for(tile.rows, kSquare<T>));
    const auto kernel = both_sides ? slope_kernel<Row, T, To, true>
                                   : slope_kernel<Row, T, To, false>;
    kernel<<<grid, kSlopeThreads, 0, stream(launch)>>>(table, tile, to,
                                                       to_stride);
    check_cuda(cudaGetLastError(), "slope_kernel");
  }

  static void slope(const void* /*params*/, const RowTable<T>& table,
                    const Tile<T>& tile, bool both_sides,
                    const RowLaunch& launch) {
    slope_to(table, tile, both_sides, tile.data, tile.stride, launch);
  }

  static void slope_bf16(const void* /*params*/, const RowTable<T>& table,
                         const Tile<T>& tile, bool both_sides, void* to,
                         const RowLaunch& launch) {
    if constexpr (sizeof(T) == sizeof(float)) {
      slope_to(table, tile, both_sides, static_cast<__nv_bfloat16*>(to),
               tile.stride, launch);
    }
  }

  static constexpr RowKernels<T> kernels() {
    return {sizes,          rows<Step::kOpen>,   absorb,
            absorb_columns, rows<Step::kSettle>, rows<Step::kClose>,
            slope,          slope_bf16};
  }
};

}  // namespace kith::on_cuda
