// Splitting rows: a warp for a row.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/split_kernels.h"

namespace kith {
namespace {

constexpr int kWarp = 32;
constexpr int kRows = 8;  // of a block of threads

__device__ double sum_of_warp(double x) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, step);
  }
  return x;
}

__global__ void split_kernel(SplitBlock block, int64_t begin, int64_t end) {
  const int64_t row = begin + int64_t{blockIdx.x} * kRows + threadIdx.x / kWarp;
  if (row >= end) return;
  const int lane = threadIdx.x % kWarp;
  const int64_t dim = block.dim;
  const float* x = block.x + row * dim;
  Bf16* joined =
      block.joined == nullptr ? nullptr : block.joined + row * block.width;
  double low_square = 0;
  double rest_square = 0;
#pragma unroll 4
  for (int64_t i = lane; i < dim; i += kWarp) {
    const Bf16 high = narrow<Bf16>(x[i]);
    // Both differences are exact: they have fewer bits than x.
    const float left = x[i] - widen(high);
    const Bf16 low = narrow<Bf16>(left);
    if (block.left != nullptr) {
      const double rest = left - widen(low);
      low_square += double{widen(low)} * double{widen(low)};
      rest_square += rest * rest;
    }
    if (joined == nullptr) continue;
    joined[i] = block.low_first ? low : high;
    joined[dim + i] = block.low_first ? high : low;
    joined[2 * dim + i] = high;
  }
  for (int64_t i = 3 * dim + lane; joined != nullptr && i < block.width;
       i += kWarp) {
    joined[i] = Bf16{};
  }
  if (block.left == nullptr) return;
  low_square = sum_of_warp(low_square);
  rest_square = sum_of_warp(rest_square);
  if (lane != 0) return;
  block.left[2 * row] = sqrt(low_square);
  block.left[2 * row + 1] = sqrt(rest_square);
}

}  // namespace

void split_on_cuda(const SplitBlock& block, const RowLaunch& launch) {
  const int64_t count = launch.end - launch.begin;
  if (count == 0) return;
  split_kernel<<<blocks_for(count, kRows), kRows * kWarp, 0,
                 static_cast<cudaStream_t>(launch.stream)>>>(
      block, launch.begin, launch.end);
  check_cuda(cudaGetLastError(), "splitting of rows");
}

}  // namespace kith
