// Counting on the GPU: a block of threads for a query. Each item is placed
// among the wanted ones by a binary search; how many items have each place is
// counted in shared memory, or in the result itself if there are too many.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/exact_dot.h"
#include "kith/ops/rank_kernels.h"

namespace kith {
namespace {

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

__global__ void count_kernel(RankBlock block, int64_t first) {
  __shared__ int places[kShared];
  const int64_t query = first + blockIdx.x;
  const int64_t begin = block.offsets[query];
  const int64_t wanted = block.offsets[query + 1] - begin;
  if (wanted == 0) return;
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
