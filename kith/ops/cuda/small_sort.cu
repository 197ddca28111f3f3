// Each example, a warp, counts the labels below its own and the equal ones
// before it, which is its place: n^2 comparisons of labels in the cache. Then
// one block sums up the class sizes to slots.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/small_sort.h"

namespace kith {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kThreads = 128;
constexpr int kScanThreads = 1024;
constexpr int64_t kMost = 16384;

__global__ void place_kernel(SmallSort batch) {
  const int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (i >= batch.count) return;
  const int64_t own = batch.labels[i];
  int below = 0;
  int equal = 0;
  int before = 0;
  for (int64_t j = threadIdx.x % kWarp; j < batch.count; j += kWarp) {
    const int64_t label = batch.labels[j];
    below += label < own;
    equal += label == own;
    before += label == own && j < i;
  }
  for (int step = kWarp / 2; step > 0; step /= 2) {
    below += __shfl_xor_sync(kAllLanes, below, step);
    equal += __shfl_xor_sync(kAllLanes, equal, step);
    before += __shfl_xor_sync(kAllLanes, before, step);
  }
  if (threadIdx.x % kWarp != 0) return;
  const int place = below + before;
  batch.order[place] = i;
  batch.first[place] = below;
  batch.last[place] = below + equal;
}

/// Inclusive sums over a block of threads.
__device__ int64_t block_scan(int64_t x, int64_t* store) {
  store[threadIdx.x] = x;
  __syncthreads();
  for (int step = 1; step < kScanThreads; step *= 2) {
    const int64_t add =
        threadIdx.x >= step ? store[threadIdx.x - step] : int64_t{0};
    __syncthreads();
    store[threadIdx.x] += add;
    __syncthreads();
  }
  return store[threadIdx.x];
}

__global__ void slot_kernel(SmallSort batch) {
  __shared__ int64_t store[kScanThreads];
  __shared__ unsigned long long largest;
  __shared__ unsigned long long alone;
  if (threadIdx.x == 0) largest = alone = 0;
  __syncthreads();
  const int64_t each = (batch.count + kScanThreads - 1) / kScanThreads;
  const int64_t begin = threadIdx.x * each;
  const int64_t end = begin + each < batch.count ? begin + each : batch.count;
  int64_t sum = 0;
  unsigned long long most = 0;
  unsigned long long singles = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t size = batch.last[i] - batch.first[i];
    sum += size;
    most = most < size ? size : most;
    singles += size == 1;
  }
  atomicMax(&largest, most);
  atomicAdd(&alone, singles);
  int64_t slot = block_scan(sum, store) - sum;
  for (int64_t i = begin; i < end; ++i) {
    batch.slot[i] = slot;
    slot += batch.last[i] - batch.first[i];
  }
  if (threadIdx.x == kScanThreads - 1) batch.facts[0] = store[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    batch.facts[1] = static_cast<int64_t>(largest);
    batch.facts[2] = static_cast<int64_t>(alone);
  }
}

}  // namespace

int64_t most_for_small_sort() { return kMost; }

void sort_small_batch(const SmallSort& batch, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  place_kernel<<<blocks_for(batch.count, kThreads / kWarp), kThreads, 0, on>>>(
      batch);
  check_cuda(cudaGetLastError(), "place_kernel");
  slot_kernel<<<1, kScanThreads, 0, on>>>(batch);
  check_cuda(cudaGetLastError(), "slot_kernel");
}

}  // namespace kith
