// Steps of the optimisers: a block has a piece of a tensor. The tensors of a
// call are told to the kernel as its arguments, some dozens at a time, so that
// nothing must be copied to the GPU first.

#include <algorithm>

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/optimizer_kernels.h"

namespace kith {
namespace {

constexpr int kThreads = 256;
constexpr int kMostTensors = 48;  ///< Of a launch: arguments are below 4 kB.

template <int kLists>
struct Tensors {
  NumberLists<kLists> lists[kMostTensors];
  int64_t first_piece[kMostTensors + 1];
  int count = 0;
};

/// What a block works on.
template <int kLists>
struct Piece {
  __device__ explicit Piece(const Tensors<kLists>& tensors) {
    int low = 0, high = tensors.count - 1;
    while (low < high) {  // the last that begins here or before
      const int middle = (low + high + 1) / 2;
      if (tensors.first_piece[middle] <= blockIdx.x) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const NumberLists<kLists>& all = tensors.lists[low];
    begin = (blockIdx.x - tensors.first_piece[low]) * GpuSteps::kPiece;
    end = begin + GpuSteps::kPiece < all.count ? begin + GpuSteps::kPiece
                                               : all.count;
#pragma unroll
    for (int k = 0; k < kLists; ++k) data[k] = all.data[k];
  }
  float* data[kLists];
  int64_t begin;
  int64_t end;
};

__global__ void __launch_bounds__(kThreads)
    adam_kernel(AdamScalars scalars, Tensors<4> tensors) {
  const Piece<4> piece(tensors);
  const float* __restrict__ gradient = piece.data[0];
  float* __restrict__ mean = piece.data[1];
  float* __restrict__ square = piece.data[2];
  float* __restrict__ parameter = piece.data[3];
#pragma unroll 4
  for (int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kThreads) {
    step_number(scalars, gradient[i], mean[i], square[i], parameter[i]);
  }
}

__global__ void __launch_bounds__(kThreads)
    sgd_kernel(SgdScalars scalars, Tensors<3> tensors) {
  const Piece<3> piece(tensors);
  const float* __restrict__ gradient = piece.data[0];
  float* __restrict__ velocity = piece.data[1];
  float* __restrict__ parameter = piece.data[2];
#pragma unroll 4
  for (int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kThreads) {
    step_number(scalars, gradient[i], velocity[i], parameter[i]);
  }
}

/// In a fixed order, so that a step gives the same bits every time.
__global__ void __launch_bounds__(kThreads)
    squares_kernel(Tensors<1> tensors, double* sums) {
  __shared__ double shared[kThreads];
  const Piece<1> piece(tensors);
  double sum = 0;
  for (int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kThreads) {
    const double x = piece.data[0][i];
    sum += x * x;
  }
  shared[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

/// Calls launch(tensors, pieces) for some tensors after the other.
template <int kLists, class Launch>
void for_some(const std::vector<NumberLists<kLists>>& all,
              const Launch& launch) {
  for (size_t begin = 0; begin < all.size(); begin += kMostTensors) {
    Tensors<kLists> tensors;
    int64_t pieces = 0;
    const size_t end = std::min(all.size(), begin + kMostTensors);
    for (size_t i = begin; i < end; ++i) {
      tensors.lists[tensors.count] = all[i];
      tensors.first_piece[tensors.count++] = pieces;
      pieces += GpuSteps::pieces_of(all[i].count);
    }
    if (pieces > 0) launch(tensors, pieces);
  }
}

void adam(const AdamScalars& scalars, const std::vector<NumberLists<4>>& all,
          void* stream) {
  for_some(all, [&](const Tensors<4>& tensors, int64_t pieces) {
    adam_kernel<<<static_cast<unsigned>(pieces), kThreads, 0,
                  static_cast<cudaStream_t>(stream)>>>(scalars, tensors);
  });
  check_cuda(cudaGetLastError(), "adam");
}

void sgd(const SgdScalars& scalars, const std::vector<NumberLists<3>>& all,
         void* stream) {
  for_some(all, [&](const Tensors<3>& tensors, int64_t pieces) {
    sgd_kernel<<<static_cast<unsigned>(pieces), kThreads, 0,
                 static_cast<cudaStream_t>(stream)>>>(scalars, tensors);
  });
  check_cuda(cudaGetLastError(), "sgd");
}

void squares(const std::vector<NumberLists<1>>& all, double* sums,
             void* stream) {
  for_some(all, [&](const Tensors<1>& tensors, int64_t pieces) {
    squares_kernel<<<static_cast<unsigned>(pieces), kThreads, 0,
                     static_cast<cudaStream_t>(stream)>>>(tensors, sums);
    sums += pieces;
  });
  check_cuda(cudaGetLastError(), "squares");
}

}  // namespace

extern const GpuSteps gpu_steps = {adam, sgd, squares};

}  // namespace kith
