// Counting on the GPU: a block of threads for a query. A few wanted items are
// held in registers, and each item is compared with all of them. Among more it
// is placed by a binary search; how many items have each place is counted in
// shared memory, or in the result itself if there are too many.
//
// Items that are too close to a wanted one wait in shared memory, until there
// are many or the row ends: then eight lanes at a time compute the exact
// similarity of one. A thread that did so on its own would let its warp wait.

#include <cmath>

#include "kith/ops/cuda/exact_dot.cuh"
#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/rank_kernels.h"

namespace kith {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kThreads = 256;
/// Pairs whose exact similarity a block of threads computes at a time.
constexpr int kPairs = kThreads / kDotLanes;
/// Similarities that a thread reads at once: 16 bytes.
constexpr int kPack = 4;
/// A thread's packs of a stretch of a row.
constexpr int kPacks = 2;
constexpr int kStretch = kThreads * kPacks * kPack;
/// Items that may wait: those of a stretch always have room.
constexpr int kRoom = kStretch + 1024;
/// Wanted items up to which the places are counted in shared memory.
constexpr int64_t kShared = 2048;

__global__ void similarities_kernel(RowPairs pairs, int64_t begin,
                                    int64_t end) {
  const int64_t i =
      begin + int64_t{blockIdx.x} * kPairs + threadIdx.x / kDotLanes;
  const bool any = i < end;
  const int64_t x = any ? pairs.x_row[i] : 0;
  const int64_t y = any ? pairs.y_row[i] : 0;
  const int lane = threadIdx.x % kDotLanes;
  const float exact =
      exact_dot_of_lanes(pairs.x + x * pairs.dim, pairs.y + y * pairs.dim,
                         any ? pairs.dim : 0, lane);
  if (any && lane == 0) pairs.similarity[i] = exact;
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

/// A query and its wanted items, the farthest first.
struct Wanted {
  int64_t query;
  int64_t begin;  ///< Of its pairs among all.
  int64_t count;
};

/// How many wanted items an item of this exact similarity is nearer than.
__device__ int64_t place_of(const RankBlock& block, const Wanted& wanted,
                            float exact, int64_t position) {
  const float* threshold = block.threshold + wanted.begin;
  int64_t place = count_below(threshold, wanted.count, exact);
  while (place < wanted.count && threshold[place] == exact &&
         position < block.wanted[wanted.begin + place]) {
    ++place;
  }
  return place;
}

/// A few wanted items. `above[j]` are a thread's items that are nearer than the
/// j-th of them, so those of a place are a difference.
template <int few>
struct FewPlaces {
  float slack;
  float threshold[few];
  int above[few];

  __device__ FewPlaces(const RankBlock& block, const Wanted& wanted)
      : slack(block.slack[wanted.query]) {
#pragma unroll
    for (int j = 0; j < few; ++j) {
      threshold[j] =
          j < wanted.count ? block.threshold[wanted.begin + j] : INFINITY;
      above[j] = 0;
    }
  }

  /// Counts an item, unless rounding leaves its place open.
  __device__ bool counts(float s) {
    const float low = s - slack;
    const float high = s + slack;
    if (threshold[0] > high) return true;
    bool is_open = false;
#pragma unroll
    for (int j = 0; j < few; ++j) {
      is_open |= threshold[j] >= low && threshold[j] <= high;
    }
    if (is_open) return false;
#pragma unroll
    for (int j = 0; j < few; ++j) above[j] += threshold[j] < low;
    return true;
  }

  __device__ void add(int64_t place) {
#pragma unroll
    for (int j = 0; j < few; ++j) above[j] += j < place;
  }

  /// By all threads.
  __device__ void write(const RankBlock& block, const Wanted& wanted) const {
    __shared__ int sums[few + 1];
    if (threadIdx.x <= few) sums[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < few; ++j) {
      int sum = above[j];
      for (int step = kWarp / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(kAllLanes, sum, step);
      }
      if (threadIdx.x % kWarp == 0) atomicAdd(&sums[j], sum);
    }
    __syncthreads();
    const int j = threadIdx.x;
    if (j < wanted.count) {
      block.count[wanted.begin + j] += sums[j] - sums[j + 1];
    }
  }
};

/// Many wanted items. `places` is shared memory for the items of each place, or
/// null: then they are counted in the result.
struct ManyPlaces {
  float slack;
  const float* threshold;
  int64_t wanted_count;
  int* places;
  int64_t* result;

  __device__ ManyPlaces(const RankBlock& block, const Wanted& wanted,
                        int* shared)
      : slack(block.slack[wanted.query]),
        threshold(block.threshold + wanted.begin),
        wanted_count(wanted.count),
        places(wanted.count <= kShared ? shared : nullptr),
        result(block.count + wanted.begin) {
    if (places == nullptr) return;
    for (int64_t i = threadIdx.x; i < wanted_count; i += kThreads) {
      places[i] = 0;
    }
    __syncthreads();
  }

  /// Counts an item, unless rounding leaves its place open.
  __device__ bool counts(float s) {
    if (!(s >= threshold[0] - slack)) return true;
    const int64_t place = count_below(threshold, wanted_count, s - slack);
    if (place < wanted_count && threshold[place] <= s + slack) return false;
    add(place);
    return true;
  }

  __device__ void add(int64_t place) {
    if (place == 0) return;
    if (places != nullptr) {
      atomicAdd(&places[place - 1], 1);
    } else {
      atomicAdd(reinterpret_cast<unsigned long long*>(&result[place - 1]),
                1ull);
    }
  }

  /// By all threads.
  __device__ void write(const RankBlock&, const Wanted&) const {
    if (places == nullptr) return;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < wanted_count; i += kThreads) {
      result[i] += places[i];
    }
  }
};

/// Counts the items that wait. Returns when all threads have.
template <class Places>
__device__ void count_waiting(const RankBlock& block, const Wanted& wanted,
                              const int* waiting, int count, Places& places) {
  const int lane = threadIdx.x % kDotLanes;
  for (int first = 0; first < count; first += kPairs) {
    const int i = first + threadIdx.x / kDotLanes;
    const bool any = i < count;
    const int64_t item = any ? waiting[i] : 0;
    const float exact = exact_dot_of_lanes(
        block.queries + wanted.query * block.dim,
        block.gallery + item * block.dim, any ? block.dim : 0, lane);
    if (any && lane == 0) {
      places.add(place_of(block, wanted, exact, block.item0 + item));
    }
  }
  __syncthreads();
}

/// Four similarities of a row from `item` on; -infinity behind its end.
__device__ __forceinline__ float4 four_of(const float* row, bool is_aligned,
                                          int64_t item, int64_t items) {
  if (is_aligned && item + kPack <= items) {
    return *reinterpret_cast<const float4*>(row + item);
  }
  const auto at = [&](int64_t i) { return i < items ? row[i] : -INFINITY; };
  return make_float4(at(item), at(item + 1), at(item + 2), at(item + 3));
}

/// Counts the items of a query's row.
template <class Places>
__device__ void count_row(const RankBlock& block, const Wanted& wanted,
                          int* waiting, Places places) {
  __shared__ int count;  // of those that wait
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const float* row = block.similarity + wanted.query * block.query_stride;
  const bool is_aligned =
      reinterpret_cast<uintptr_t>(row) % sizeof(float4) == 0;
  // The item itself is not counted, wherever it is among these.
  const int64_t skip =
      block.exclude == nullptr ? -1 : block.exclude[wanted.query] - block.item0;
  for (int64_t begin = 0; begin < block.items; begin += kStretch) {
    float s[kPacks][kPack];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t item = begin + (p * kThreads + threadIdx.x) * kPack;
      const float4 four = four_of(row, is_aligned, item, block.items);
      s[p][0] = four.x;
      s[p][1] = four.y;
      s[p][2] = four.z;
      s[p][3] = four.w;
    }
    bool is_full = false;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        const int64_t item = begin + (p * kThreads + threadIdx.x) * kPack + e;
        if (item == skip || places.counts(s[p][e])) continue;
        if (item >= block.items) continue;  // a threshold of -infinity
        const int at = atomicAdd(&count, 1);
        waiting[at] = static_cast<int>(item);
        is_full = is_full || at >= kRoom - kStretch;
      }
    }
    if (__syncthreads_or(is_full) == 0) continue;
    count_waiting(block, wanted, waiting, count, places);
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
  }
  count_waiting(block, wanted, waiting, count, places);
  places.write(block, wanted);
}

__global__ void __launch_bounds__(kThreads, 4)
    count_kernel(RankBlock block, int64_t first) {
  __shared__ int waiting[kRoom];
  __shared__ int places[kShared];
  const int64_t query = first + blockIdx.x;
  const int64_t begin = block.offsets[query];
  const Wanted wanted{query, begin, block.offsets[query + 1] - begin};
  if (wanted.count == 0) return;
  if (wanted.count <= 4) {
    count_row(block, wanted, waiting, FewPlaces<4>(block, wanted));
  } else if (wanted.count <= 16) {
    count_row(block, wanted, waiting, FewPlaces<16>(block, wanted));
  } else {
    count_row(block, wanted, waiting, ManyPlaces(block, wanted, places));
  }
}

void similarities(const RowPairs& pairs, const RowLaunch& launch) {
  const int64_t count = launch.end - launch.begin;
  if (count == 0) return;
  similarities_kernel<<<blocks_for(count, kPairs), kThreads, 0,
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
