// Counting on the GPU: a block of threads for a query. A few wanted items are
// held in registers, and each item is compared with all of them. Among more it
// is placed by a binary search; how many items have each place is counted in
// shared memory, or in the result itself if there are too many.

#include <math_constants.h>

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/exact_dot.h"
#include "kith/ops/rank_kernels.h"

namespace kith {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kThreads = 256;
/// Wanted items up to which the places are counted in shared memory.
constexpr int64_t kShared = 2048;

__global__ void similarities_kernel(RowPairs pairs, int64_t begin,
                                    int64_t end) {
  const int64_t i = begin + int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= end) return;
  pairs.similarity[i] =
      on_cuda::exact_dot(pairs.x + pairs.x_row[i] * pairs.dim,
                         pairs.y + pairs.y_row[i] * pairs.dim, pairs.dim);
}

/// How many of `size` rising numbers are below x.
__device__ int64_t count_below(const float* rising, int64_t size, float x) {
  int64_t low = 0;
  while (size > 0) {
    const int64_t half = size / 2;
    if (rising[low + half] < x) {
      low += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return low;
}

/// Wanted items of the query that the block's item is nearer than.
__device__ int64_t place_of(const RankBlock& block, int64_t query, int64_t item,
                            int64_t begin, int64_t wanted) {
  const float* threshold = block.threshold + begin;
  const float slack = block.slack[query];
  const float s =
      block.similarity[query * block.query_stride + item * block.item_stride];
  if (!(s >= threshold[0] - slack)) return 0;
  const int64_t position = block.item0 + item;
  if (block.exclude != nullptr && block.exclude[query] == position) return 0;
  int64_t place = count_below(threshold, wanted, s - slack);
  if (place == wanted || threshold[place] > s + slack) return place;
  const float exact =
      on_cuda::exact_dot(block.queries + query * block.dim,
                         block.gallery + item * block.dim, block.dim);
  place = count_below(threshold, wanted, exact);
  while (place < wanted && threshold[place] == exact &&
         position < block.wanted[begin + place]) {
    ++place;
  }
  return place;
}

/// Items that a thread takes at a time, 16 bytes of similarities.
constexpr int kAtOnce = 4;
struct alignas(16) Four {
  float s[kAtOnce];
};

/// Calls f(item, similarity) with each item of a query's row; by all threads.
template <class F>
__device__ void each_item(const RankBlock& block, const float* row,
                          const F& f) {
  const bool aligned = reinterpret_cast<uintptr_t>(row) % sizeof(Four) == 0;
  const int64_t whole = aligned ? block.items / kAtOnce * kAtOnce : 0;
  for (int64_t item = threadIdx.x * kAtOnce; item < whole;
       item += kThreads * kAtOnce) {
    const Four four = *reinterpret_cast<const Four*>(row + item);
    KITH_UNROLL
    for (int i = 0; i < kAtOnce; ++i) f(item + i, four.s[i]);
  }
  for (int64_t item = whole + threadIdx.x; item < block.items;
       item += kThreads) {
    f(item, row[item]);
  }
}

/// Counts for a query with at most `few` wanted items. `above[j]` are the items
/// that are nearer than the j-th of them, so those of a place are a difference.
template <int few>
__device__ void count_few(const RankBlock& block, int64_t query, int64_t begin,
                          int wanted) {
  __shared__ int sums[few + 1];
  if (threadIdx.x <= few) sums[threadIdx.x] = 0;
  __syncthreads();
  const float slack = block.slack[query];
  float threshold[few];
  int above[few] = {};
  KITH_UNROLL
  for (int j = 0; j < few; ++j) {
    threshold[j] = j < wanted ? block.threshold[begin + j] : CUDART_INF_F;
  }
  // The item itself is not counted, wherever it is among these.
  const int64_t skip =
      block.exclude == nullptr ? -1 : block.exclude[query] - block.item0;
  const float* row = block.similarity + query * block.query_stride;
  each_item(block, row, [&](int64_t item, float s) {
    const float low = s - slack;
    const float high = s + slack;
    if (threshold[0] > high || item == skip) return;
    bool is_open = false;
    KITH_UNROLL
    for (int j = 0; j < few; ++j) {
      is_open |= threshold[j] >= low && threshold[j] <= high;
    }
    if (!is_open) {
      KITH_UNROLL
      for (int j = 0; j < few; ++j) above[j] += threshold[j] < low;
      return;
    }
    const int64_t place = place_of(block, query, item, begin, wanted);
    KITH_UNROLL
    for (int j = 0; j < few; ++j) above[j] += j < place;
  });
  KITH_UNROLL
  for (int j = 0; j < few; ++j) {
    int sum = above[j];
    for (int step = kWarp / 2; step > 0; step /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, step);
    }
    if (threadIdx.x % kWarp == 0) atomicAdd(&sums[j], sum);
  }
  __syncthreads();
  const int j = threadIdx.x;
  if (j < wanted) block.count[begin + j] += sums[j] - sums[j + 1];
}

__global__ void __launch_bounds__(kThreads)
    count_kernel(RankBlock block, int64_t first) {
  __shared__ int places[kShared];
  const int64_t query = first + blockIdx.x;
  const int64_t begin = block.offsets[query];
  const int64_t wanted = block.offsets[query + 1] - begin;
  if (wanted == 0) return;
  if (wanted <= 4) return count_few<4>(block, query, begin, wanted);
  if (wanted <= 16) return count_few<16>(block, query, begin, wanted);
  const bool shared = wanted <= kShared;
  if (shared) {
    for (int64_t i = threadIdx.x; i < wanted; i += kThreads) places[i] = 0;
    __syncthreads();
  }
  for (int64_t item = threadIdx.x; item < block.items; item += kThreads) {
    const int64_t place = place_of(block, query, item, begin, wanted);
    if (place == 0) continue;
    if (shared) {
      atomicAdd(&places[place - 1], 1);
    } else {
      atomicAdd(reinterpret_cast<unsigned long long*>(
                    &block.count[begin + place - 1]),
                1ull);
    }
  }
  if (!shared) return;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < wanted; i += kThreads) {
    block.count[begin + i] += places[i];
  }
}

void similarities(const RowPairs& pairs, const RowLaunch& launch) {
  const int64_t count = launch.end - launch.begin;
  if (count == 0) return;
  similarities_kernel<<<blocks_for(count, kThreads), kThreads, 0,
                        static_cast<cudaStream_t>(launch.stream)>>>(
      pairs, launch.begin, launch.end);
  check_cuda(cudaGetLastError(), "similarities of pairs");
}

void count_nearer(const RankBlock& block, const RowLaunch& launch) {
  const int64_t count = launch.end - launch.begin;
  if (count == 0) return;
  count_kernel<<<static_cast<unsigned>(count), kThreads, 0,
                 static_cast<cudaStream_t>(launch.stream)>>>(block,
                                                             launch.begin);
  check_cuda(cudaGetLastError(), "counting of ranks");
}

}  // namespace

const RankKernels cuda_ranks = {similarities, count_nearer};

}  // namespace kith
