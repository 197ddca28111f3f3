// Similarities and gradients within classes, a warp a row; and the mixing of
// SiMix, a thread a number: neighbours in a row read neighbouring similarities.

#include "kith/ops/class_ops.h"
#include "kith/ops/cuda/launch.cuh"

namespace kith {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int64_t kLines = 20;  // of a tile, a thread
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ int64_t warp_number() {
  return (int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
}

template <class T>
__global__ void similarities_kernel(ClassPairs<T> p, T* similarity) {
  const int64_t i = warp_number();
  if (i >= p.rows) return;
  const int lane = threadIdx.x % kWarp;
  const T* x = p.x + i * p.dim;
  for (int64_t j = p.first[i]; j < p.last[i]; ++j) {
    const T* y = p.y + j * p.dim;
    T sum = 0;
    for (int64_t k = lane; k < p.dim; k += kWarp) {
      const T d = x[k] - y[k];
      sum += p.euclidean ? d * d : x[k] * y[k];
    }
    for (int step = kWarp / 2; step > 0; step /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, step);
    }
    if (lane == 0) {
      similarity[p.slot[i] + j - p.first[i]] = p.euclidean ? 1 - sum / 2 : sum;
    }
  }
}

template <class T>
__global__ void row_gradients_kernel(ClassPairs<T> p, const T* gradient,
                                     bool both_sides, T* dx) {
  constexpr int kEach = 4;  // numbers of a vector that a lane has at a time
  const int64_t i = warp_number();
  if (i >= p.rows) return;
  const int64_t first = p.first[i];
  const int64_t last = p.last[i];
  const int lane = threadIdx.x % kWarp;
  for (int64_t some = first; some < last; some += kWarp) {
    // Each lane reads the gradient of one pair, for all to use.
    T mine = 0;
    const int64_t j = some + lane;
    if (j < last) {
      mine = gradient[p.slot[i] + j - first];
      if (both_sides) mine += gradient[p.slot[j] + i - first];
    }
    const int count =
        static_cast<int>(last - some < kWarp ? last - some : kWarp);
    for (int64_t begin = 0; begin < p.dim; begin += kWarp * kEach) {
      T sum[kEach] = {};
      for (int n = 0; n < count; ++n) {
        const T g = __shfl_sync(kAllLanes, mine, n);
        const T* y = p.y + (some + n) * p.dim;
#pragma unroll
        for (int e = 0; e < kEach; ++e) {
          const int64_t k = begin + e * kWarp + lane;
          if (k >= p.dim) continue;
          const T own = p.euclidean ? p.x[i * p.dim + k] : T(0);
          sum[e] += g * (y[k] - own);
        }
      }
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int64_t k = begin + e * kWarp + lane;
        if (k < p.dim) dx[i * p.dim + k] += sum[e];
      }
    }
  }
}

template <class T>
__global__ void column_gradients_kernel(ClassPairs<T> p, ColumnRanges ranges,
                                        const T* gradient, T* dy) {
  const int64_t j = warp_number();
  if (j >= p.columns) return;
  for (int64_t k = threadIdx.x % kWarp; k < p.dim; k += kWarp) {
    const T own = p.euclidean ? p.y[j * p.dim + k] : T(0);
    T sum = 0;
    for (int64_t i = ranges.first[j]; i < ranges.last[j]; ++i) {
      sum += gradient[p.slot[i] + j - p.first[i]] * (p.x[i * p.dim + k] - own);
    }
    dy[j * p.dim + k] += sum;
  }
}

template <class T>
__global__ void mix_tile_kernel(MixedItems rows, MixedItems columns,
                                Tile<T> tile, Tile<T> mixed) {
  const int64_t q = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (q >= mixed.cols) return;
  const T b = static_cast<T>(columns.alpha[q]);
  const int64_t k = columns.first_parent[q] - columns.example0;
  const int64_t l = columns.second_parent[q] - columns.example0;
  const int64_t begin = blockIdx.y * kLines;
  const int64_t end = begin + kLines < mixed.rows ? begin + kLines : mixed.rows;
#pragma unroll 4
  for (int64_t p = begin; p < end; ++p) {
    const T a = static_cast<T>(rows.alpha[p]);
    const T* one =
        tile.data + (rows.first_parent[p] - rows.example0) * tile.stride;
    const T* two =
        tile.data + (rows.second_parent[p] - rows.example0) * tile.stride;
    mixed.data[p * mixed.stride + q] =
        b * (a * one[k] + (1 - a) * two[k]) +
        (1 - b) * (a * one[l] + (1 - a) * two[l]);
  }
}

template <class T>
__global__ void unmix_tile_kernel(MixedItems rows, MixedItems columns,
                                  Tile<T> mixed, Tile<T> tile) {
  const int64_t l = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (l >= tile.cols) return;
  const int64_t begin = columns.child_start[l];
  const int64_t end = columns.child_start[l + 1];
  const int64_t line = blockIdx.y * kLines;
  const int64_t last = line + kLines < tile.rows ? line + kLines : tile.rows;
  for (int64_t k = line; k < last; ++k) {
    T sum = 0;
    for (int64_t c = rows.child_start[k]; c < rows.child_start[k + 1]; ++c) {
      const T* from = mixed.data +
                      (rows.children[c] - rows.item0) * mixed.stride -
                      columns.item0;
      T part = 0;
      for (int64_t e = begin; e < end; ++e) {
        part +=
            static_cast<T>(columns.child_share[e]) * from[columns.children[e]];
      }
      sum += static_cast<T>(rows.child_share[c]) * part;
    }
    tile.data[k * tile.stride + l] = sum;
  }
}

template <class T>
__global__ void mix_slots_kernel(MixedItems set, MixedSlots<T> slots) {
  const int64_t p = warp_number();
  if (p >= set.items) return;
  const int64_t i = set.first_parent[p];
  const int64_t j = set.second_parent[p];
  const T a = static_cast<T>(set.alpha[p]);
  const int64_t first = slots.example_first[i];
  const T* one = slots.examples + slots.example_slot[i] - first;
  const T* two = slots.examples + slots.example_slot[j] - first;
  T* to = slots.items + slots.item_slot[p] - slots.item_first[p];
  for (int64_t q = slots.item_first[p] + threadIdx.x % kWarp;
       q < slots.item_last[p]; q += kWarp) {
    const int64_t k = set.first_parent[q];
    const int64_t l = set.second_parent[q];
    const T b = static_cast<T>(set.alpha[q]);
    to[q] = b * (a * one[k] + (1 - a) * two[k]) +
            (1 - b) * (a * one[l] + (1 - a) * two[l]);
  }
}

template <class T>
__global__ void unmix_slots_kernel(MixedItems set, MixedSlots<T> slots) {
  const int64_t k = warp_number();
  if (k >= set.examples) return;
  const int64_t first = slots.example_first[k];
  T* to = slots.examples + slots.example_slot[k] - first;
  for (int64_t l = first + threadIdx.x % kWarp; l < slots.example_last[k];
       l += kWarp) {
    T sum = 0;
    for (int64_t c = set.child_start[k]; c < set.child_start[k + 1]; ++c) {
      const int64_t p = set.children[c];
      const T* from = slots.items + slots.item_slot[p] - slots.item_first[p];
      T part = 0;
      for (int64_t e = set.child_start[l]; e < set.child_start[l + 1]; ++e) {
        part += static_cast<T>(set.child_share[e]) * from[set.children[e]];
      }
      sum += static_cast<T>(set.child_share[c]) * part;
    }
    to[l] = sum;
  }
}

cudaStream_t stream(const RowLaunch& launch) {
  return static_cast<cudaStream_t>(launch.stream);
}

/// Threads along the columns, each with several lines one below the other: what
/// it knows of its column serves all of them, and lines of a class share what
/// they read.
template <class T>
dim3 line_grid(const Tile<T>& tile) {
  return dim3(blocks_for(tile.cols, kThreads), blocks_for(tile.rows, kLines));
}

/// Blocks of a kernel with a warp for each of `count` rows.
unsigned warps(int64_t count) { return blocks_for(count, kThreads / kWarp); }

template <class T>
void similarities(const ClassPairs<T>& p, T* similarity,
                  const RowLaunch& launch) {
  similarities_kernel<<<warps(p.rows), kThreads, 0, stream(launch)>>>(
      p, similarity);
  check_cuda(cudaGetLastError(), "similarities");
}

template <class T>
void row_gradients(const ClassPairs<T>& p, const T* gradient, bool both_sides,
                   T* dx, const RowLaunch& launch) {
  row_gradients_kernel<<<warps(p.rows), kThreads, 0, stream(launch)>>>(
      p, gradient, both_sides, dx);
  check_cuda(cudaGetLastError(), "row_gradients");
}

template <class T>
void column_gradients(const ClassPairs<T>& p, const ColumnRanges& ranges,
                      const T* gradient, T* dy, const RowLaunch& launch) {
  column_gradients_kernel<<<warps(p.columns), kThreads, 0, stream(launch)>>>(
      p, ranges, gradient, dy);
  check_cuda(cudaGetLastError(), "column_gradients");
}

template <class T>
void mix_tile(const MixedItems& rows, const MixedItems& columns,
              const Tile<T>& tile, const Tile<T>& mixed,
              const RowLaunch& launch) {
  const dim3 grid = line_grid(mixed);
  mix_tile_kernel<<<grid, kThreads, 0, stream(launch)>>>(rows, columns, tile,
                                                         mixed);
  check_cuda(cudaGetLastError(), "mix_tile");
}

template <class T>
void unmix_tile(const MixedItems& rows, const MixedItems& columns,
                const Tile<T>& mixed, const Tile<T>& tile,
                const RowLaunch& launch) {
  const dim3 grid = line_grid(tile);
  unmix_tile_kernel<<<grid, kThreads, 0, stream(launch)>>>(rows, columns, mixed,
                                                           tile);
  check_cuda(cudaGetLastError(), "unmix_tile");
}

template <class T>
void mix_slots(const MixedItems& set, const MixedSlots<T>& slots,
               const RowLaunch& launch) {
  mix_slots_kernel<<<warps(set.items), kThreads, 0, stream(launch)>>>(set,
                                                                      slots);
  check_cuda(cudaGetLastError(), "mix_slots");
}

template <class T>
void unmix_slots(const MixedItems& set, const MixedSlots<T>& slots,
                 const RowLaunch& launch) {
  unmix_slots_kernel<<<warps(set.examples), kThreads, 0, stream(launch)>>>(
      set, slots);
  check_cuda(cudaGetLastError(), "unmix_slots");
}

template <class T>
constexpr ClassOps<T> kOps = {
    similarities<T>, row_gradients<T>, column_gradients<T>, mix_tile<T>,
    unmix_tile<T>,   mix_slots<T>,     unmix_slots<T>};

}  // namespace

template <>
const ClassOps<float>& cuda_class_ops<float>() {
  return kOps<float>;
}
template <>
const ClassOps<double>& cuda_class_ops<double>() {
  return kOps<double>;
}

}  // namespace kith
