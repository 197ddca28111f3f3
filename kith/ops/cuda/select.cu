// A block of threads for a query, which reads the query's similarities twice.
// The first time, each of its groups of items keeps the largest; the k-th
// largest of these, b, is reached by k different items. The second time all
// items that may be among the k nearest are put on a list in shared memory.
// When it is full, and at the end, their exact similarities are computed and
// the k nearest of the list and of what was found before stay. Where fewer than
// k groups have an item that may be nearer than those found before, b says
// nothing new and is left out; where none has, so is the second reading.
//
// Nothing is lost to rounding: a similarity s of the block is within the slack
// of the exact one. k items have s >= b, exact similarities of at least
// b - slack, so one of the k nearest has that too, and s >= b - 2 slack. And an
// item that is nearer than the k-th one found before, of exact similarity e,
// has s >= e - slack. (The slack has room for the rounding of these bounds.)

#include <cfloat>
#include <climits>
#include <cmath>

#include "kith/ops/cuda/exact_dot.cuh"
#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/select_kernels.h"

namespace kith {
namespace {

constexpr int kThreads = 256;
/// Similarities that a thread reads at once: 16 bytes.
constexpr int kPack = 4;
/// A thread's packs of a stretch of the second reading.
constexpr int kPacks = 2;
/// Items of a stretch: the list has room for all of them.
constexpr int kStretch = kThreads * kPacks * kPack;
/// Items on the list, with the k found before. 32 KiB: several blocks of
/// threads are at work on a processor, and none waits for memory alone.
constexpr int kRoom = 4096;
static_assert(kMostSelected + kStretch < kRoom);
/// Up to this k one pack of a thread has its groups, beyond two: groups are at
/// least twice as many as k, or b would be far below the k-th largest.
constexpr int64_t kMostOfOnePack = 256;
static_assert(2 * kMostSelected <= 2 * kThreads * kPack);

/// An item on the list. A place below k is one found before, and k + i is item
/// i of the block: of equal similarities the lower place is nearer.
struct alignas(8) Listed {
  float similarity;
  int place;
};

__device__ __forceinline__ bool is_nearer(const Listed& a, const Listed& b) {
  return a.similarity > b.similarity ||
         (a.similarity == b.similarity && a.place < b.place);
}
__device__ __forceinline__ bool is_nearer(float a, float b) { return a > b; }

/// Sorts `count`, a power of 2, in shared memory, the nearest first: Batcher's
/// bitonic network. Waits for all threads before and after.
template <class T>
__device__ void sort_nearest_first(T* items, int count) {
  for (int size = 2; size <= count; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < count / 2; i += kThreads) {
        const int low = 2 * i - (i & (step - 1));
        const T a = items[low];
        const T b = items[low + step];
        const bool forwards = (low & size) == 0;
        if (forwards ? is_nearer(b, a) : is_nearer(a, b)) {
          items[low] = b;
          items[low + step] = a;
        }
      }
    }
  }
  __syncthreads();
}

/// The row's last pack is filled up, and the excluded item left out, by
/// similarities that no item has.
__device__ void leave_out(const SelectBlock& block, int64_t query, float* row) {
  const int64_t filled = (block.items + kPack - 1) / kPack * kPack;
  const int64_t beyond = block.items + threadIdx.x;
  if (beyond < filled) row[beyond] = -INFINITY;
  if (block.exclude != nullptr && threadIdx.x == kPack) {
    const int64_t item = block.exclude[query] - block.item0;
    if (item >= 0 && item < block.items) row[item] = -INFINITY;
  }
  __syncthreads();
}

/// The k-th largest of the groups' largest similarities; -infinity if fewer
/// than k of these are `least` or more, and infinity if none is. `largest` is
/// shared memory for one number a group.
template <int kGroupPacks>
__device__ float reached_by_k(const float4* row, int packs, int64_t k,
                              float least, float* largest) {
  float4 most[kGroupPacks];
#pragma unroll
  for (int g = 0; g < kGroupPacks; ++g) {
    most[g] = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
  }
#pragma unroll
  for (int g = 0; g < kGroupPacks; ++g) {
#pragma unroll 4
    for (int pack = g * kThreads + threadIdx.x; pack < packs;
         pack += kGroupPacks * kThreads) {
      const float4 s = row[pack];
      most[g].x = fmaxf(most[g].x, s.x);
      most[g].y = fmaxf(most[g].y, s.y);
      most[g].z = fmaxf(most[g].z, s.z);
      most[g].w = fmaxf(most[g].w, s.w);
    }
  }
  __shared__ int reached;  // groups with `least` or more
  if (threadIdx.x == 0) reached = 0;
  __syncthreads();
  int mine = 0;
#pragma unroll
  for (int g = 0; g < kGroupPacks; ++g) {
    float* to = largest + kPack * (g * kThreads + threadIdx.x);
    to[0] = most[g].x;
    to[1] = most[g].y;
    to[2] = most[g].z;
    to[3] = most[g].w;
    mine += (most[g].x >= least) + (most[g].y >= least) + (most[g].z >= least) +
            (most[g].w >= least);
  }
  if (mine > 0) atomicAdd(&reached, mine);
  __syncthreads();
  if (reached == 0) return INFINITY;
  if (reached < k) return -INFINITY;
  sort_nearest_first(largest, kGroupPacks * kThreads * kPack);
  const float bound = largest[k - 1];
  __syncthreads();  // before the memory serves as the list
  return bound;
}

/// The list [k found before | `added` of the block] with exact similarities,
/// the k nearest first. Returns when all threads see it.
__device__ void settle(const SelectBlock& block, int64_t query, int added,
                       Listed* list) {
  constexpr int kPairs = kThreads / kDotLanes;
  const int k = static_cast<int>(block.k);
  const int lane = threadIdx.x % kDotLanes;
  for (int first = 0; first < added; first += kPairs) {
    const int i = first + threadIdx.x / kDotLanes;
    const bool any = i < added;
    const int64_t item = any ? list[k + i].place - k : 0;
    const float exact = exact_dot_of_lanes(block.queries + query * block.dim,
                                           block.gallery + item * block.dim,
                                           any ? block.dim : 0, lane);
    if (any && lane == 0) list[k + i].similarity = exact;
  }
  int count = 1;
  while (count < k + added) count *= 2;
  for (int i = k + added + threadIdx.x; i < count; i += kThreads) {
    list[i] = {-INFINITY, INT_MAX};
  }
  sort_nearest_first(list, count);
}

/// Writes the first k of the list back.
__device__ void write_nearest(const SelectBlock& block, int64_t query,
                              const Listed* list) {
  constexpr int kEach = static_cast<int>(kMostSelected) / kThreads;
  const int k = static_cast<int>(block.k);
  float* nearest = block.nearest + query * block.k;
  int64_t* position = block.position + query * block.k;
  int64_t positions[kEach];  // all are read before one is overwritten
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int i = e * kThreads + threadIdx.x;
    const int place = i < k ? list[i].place : 0;
    positions[e] = place < k ? position[place] : block.item0 + (place - k);
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int i = e * kThreads + threadIdx.x;
    if (i >= k) continue;
    nearest[i] = list[i].similarity;
    position[i] = positions[e];
  }
}

template <int kGroupPacks>
__global__ void __launch_bounds__(kThreads, 4)
    select_kernel(SelectBlock block, int64_t first) {
  __shared__ Listed list[kRoom];
  __shared__ int added;  // to the list, behind the k found before
  const int64_t query = first + blockIdx.x;
  const int k = static_cast<int>(block.k);
  float* row = block.similarity + query * block.query_stride;
  leave_out(block, query, row);
  const float4* row_packs = reinterpret_cast<const float4*>(row);
  const int packs = static_cast<int>((block.items + kPack - 1) / kPack);
  const float slack = block.slack[query];
  // Of items that may be among the nearest; none has -infinity.
  float least = fmaxf(block.nearest[query * block.k + k - 1] - slack, -FLT_MAX);
  const float bound = reached_by_k<kGroupPacks>(
      row_packs, packs, block.k, least, reinterpret_cast<float*>(list));
  if (bound == INFINITY) return;
  least = fmaxf(least, bound - 2 * slack);
  for (int i = threadIdx.x; i < k; i += kThreads) {
    list[i] = {block.nearest[query * block.k + i], i};
  }
  if (threadIdx.x == 0) added = 0;
  __syncthreads();
  const int most_before = kRoom - k - kStretch;
  for (int begin = 0; begin < packs; begin += kThreads * kPacks) {
    float s[kPacks][kPack];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int pack = begin + p * kThreads + threadIdx.x;
      const float4 read = pack < packs ? row_packs[pack]
                                       : make_float4(-INFINITY, -INFINITY,
                                                     -INFINITY, -INFINITY);
      s[p][0] = read.x;
      s[p][1] = read.y;
      s[p][2] = read.z;
      s[p][3] = read.w;
    }
    bool full = false;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (s[p][e] < least) continue;
        const int at = atomicAdd(&added, 1);
        const int item = kPack * (begin + p * kThreads + threadIdx.x) + e;
        list[k + at] = {s[p][e], k + item};
        full = full || at >= most_before;
      }
    }
    if (__syncthreads_or(full) == 0) continue;
    settle(block, query, added, list);
    least = fmaxf(least, list[k - 1].similarity - slack);
    if (threadIdx.x == 0) added = 0;
    __syncthreads();
  }
  if (added > 0) settle(block, query, added, list);
  write_nearest(block, query, list);
}

template <int kGroupPacks>
void launch_select(const SelectBlock& block, const RowLaunch& launch) {
  const int64_t count = launch.end - launch.begin;
  if (count == 0) return;
  select_kernel<kGroupPacks>
      <<<static_cast<unsigned>(count), kThreads, 0,
         static_cast<cudaStream_t>(launch.stream)>>>(block, launch.begin);
  check_cuda(cudaGetLastError(), "selection of neighbours");
}

}  // namespace

void select_on_cuda(const SelectBlock& block, const RowLaunch& launch) {
  if (block.k <= kMostOfOnePack) {
    launch_select<1>(block, launch);
  } else {
    launch_select<2>(block, launch);
  }
}

}  // namespace kith
