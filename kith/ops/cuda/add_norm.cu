// A block has a part of the rows, and each of its threads eight columns: what
// belongs to columns (parameters, sums) stays in registers. Some rows are read
// at a time, so that loads are on their way while others wait for the sums over
// a row.
//
// Bytes a number, with C = Bf16 and S = float: forward 4 + 2 read (x, a) and
// 4 + 2 written (y, n); backward 2 + 4 + 4 read (dn, dy, y) and 4 + 2 written
// (dx, da). 38 612 rows of 768 are 356 and 474 MB, 87 and 116 us at 4.1 TB/s.

#include <stdexcept>

#include "kith/ops/cuda/eight.cuh"
#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/token_kernels.h"

namespace kith {
namespace {

constexpr int kLanes = 32;
constexpr int kMostWarps = 32;
constexpr int kNarrow = 512;  ///< Threads of a block that reads rows in pairs.

/// Sums over the block of `count` numbers of each thread. `scratch` is not
/// written again before all threads have come to another sync.
template <int count>
__device__ void sum_over_block(float (&x)[count],
                               float (&scratch)[count][kMostWarps]) {
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
#pragma unroll
  for (int i = 0; i < count; ++i) {
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) {
      x[i] += __shfl_xor_sync(0xffffffffu, x[i], step);
    }
    if (lane == 0) scratch[i][warp] = x[i];
  }
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kLanes;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    x[i] = 0;
    for (int w = 0; w < warps; ++w) x[i] += scratch[i][w];
  }
}

/// Rows are fewer than 2^31, and so is the quick division.
template <class P>
__device__ float factor_of(const P& p, int64_t row) {
  if (p.factor == nullptr) return 1;
  return p.factor[static_cast<uint32_t>(row) / static_cast<uint32_t>(p.tokens)];
}

template <int kRows, int kThreads, bool kScaled, class C, class N>
__global__ void __launch_bounds__(kThreads)
    add_norm_kernel(AddNorm<float, C, N> p) {
  __shared__ float of_means[kRows][kMostWarps];
  __shared__ float of_squares[kRows][kMostWarps];
  const int64_t column = int64_t{threadIdx.x} * kEight;
  const bool has_columns = column < p.width;
  float gamma[kEight] = {}, beta[kEight] = {}, bias[kEight] = {},
        scale[kEight] = {};
  if (has_columns) {
    read_eight(p.gamma + column, gamma);
    read_eight(p.beta + column, beta);
    if (p.bias != nullptr) read_eight(p.bias + column, bias);
    if (kScaled) read_eight(p.scale + column, scale);
  }
  const float share = 1.0F / static_cast<float>(p.width);
  const int64_t begin = blockIdx.x * p.rows_each;
  const int64_t end = min(p.rows, begin + p.rows_each);
  for (int64_t row0 = begin; row0 < end; row0 += kRows) {
    Eight<float> x[kRows];
    Eight<C> a[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_columns || row0 + r >= end) continue;
      const int64_t at = (row0 + r) * p.width + column;
      x[r].read(p.x + at);
      if (p.a != nullptr) a[r].read(p.a + at);
    }
    float y[kRows][kEight] = {};
    float means[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_columns || row0 + r >= end) continue;
      x[r].unpack(y[r]);
      if (p.a != nullptr) {
        const float factor = factor_of(p, row0 + r);
        float branch[kEight];
        a[r].unpack(branch);
#pragma unroll
        for (int k = 0; k < kEight; ++k) {
          const float times = kScaled ? factor * scale[k] : factor;
          y[r][k] += times * (branch[k] + bias[k]);
        }
      }
#pragma unroll
      for (int k = 0; k < kEight; ++k) means[r] += y[r][k];
    }
    sum_over_block(means, of_means);
    float inverses[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      means[r] *= share;
      if (!has_columns) continue;
#pragma unroll
      for (int k = 0; k < kEight; ++k) {
        const float away = y[r][k] - means[r];
        inverses[r] += away * away;
      }
    }
    sum_over_block(inverses, of_squares);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_columns || row0 + r >= end) continue;
      const int64_t row = row0 + r;
      const int64_t at = row * p.width + column;
      const float inverse = 1.0F / sqrtf(inverses[r] * share + p.eps);
      if (p.y != nullptr) write_eight(y[r], p.y + at);
      float n[kEight];
#pragma unroll
      for (int k = 0; k < kEight; ++k) {
        n[k] = (y[r][k] - means[r]) * inverse * gamma[k] + beta[k];
      }
      write_eight(n, p.n + at);
      if (p.mean == nullptr || threadIdx.x != 0) continue;
      p.mean[row] = means[r];
      p.inverse[row] = inverse;
    }
  }
}

template <int kRows, int kThreads, bool kScaled, class C, class N>
__global__ void __launch_bounds__(kThreads)
    add_norm_backward_kernel(AddNormGradient<float, C, N> p) {
  const AddNorm<float, C, N>& of = p.of;
  // Of every other step: one sync a step is enough.
  __shared__ float scratch[2][2 * kRows][kMostWarps];
  const int64_t column = int64_t{threadIdx.x} * kEight;
  const bool has_columns = column < of.width;
  float gamma[kEight] = {}, bias[kEight] = {}, scale[kEight] = {};
  if (has_columns) {
    read_eight(of.gamma + column, gamma);
    if (kScaled) read_eight(of.scale + column, scale);
    if (kScaled && of.bias != nullptr) read_eight(of.bias + column, bias);
  }
  float of_gamma[kEight] = {}, of_beta[kEight] = {}, of_bias[kEight] = {},
        of_scale[kEight] = {};
  const float share = 1.0F / static_cast<float>(of.width);
  const int64_t begin = blockIdx.x * of.rows_each;
  const int64_t end = min(of.rows, begin + of.rows_each);
  int side = 0;
  for (int64_t row0 = begin; row0 < end; row0 += kRows) {
    Eight<N> dn[kRows];
    Eight<float> y[kRows], dy[kRows];
    float mean[kRows], inverse[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = row0 + r;
      if (!has_columns || row >= end) continue;
      const int64_t at = row * of.width + column;
      dn[r].read(p.dn + at);
      y[r].read(of.y + at);
      if (p.dy != nullptr) dy[r].read(p.dy + at);
      mean[r] = of.mean[row];
      inverse[r] = of.inverse[row];
    }
    float out[kRows][kEight] = {}, centred[kRows][kEight] = {};
    float sums[2 * kRows] = {};  // of g, of g x^
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_columns || row0 + r >= end) continue;
      dn[r].unpack(out[r]);
      y[r].unpack(centred[r]);
#pragma unroll
      for (int k = 0; k < kEight; ++k) {
        centred[r][k] = (centred[r][k] - mean[r]) * inverse[r];
        const float g = out[r][k] * gamma[k];
        sums[2 * r] += g;
        sums[2 * r + 1] += g * centred[r][k];
      }
    }
    sum_over_block(sums, scratch[side]);
    side ^= 1;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = row0 + r;
      if (!has_columns || row >= end) continue;
      const int64_t at = row * of.width + column;
      const float mean_g = sums[2 * r] * share;
      const float mean_gx = sums[2 * r + 1] * share;
      float d[kEight] = {};
      if (p.dy != nullptr) dy[r].unpack(d);
#pragma unroll
      for (int k = 0; k < kEight; ++k) {
        d[k] += inverse[r] *
                (out[r][k] * gamma[k] - mean_g - centred[r][k] * mean_gx);
        of_gamma[k] += out[r][k] * centred[r][k];
        of_beta[k] += out[r][k];
      }
      write_eight(d, p.dx + at);
      if (p.da == nullptr) continue;
      const float factor = factor_of(of, row);
      float da[kEight];
#pragma unroll
      for (int k = 0; k < kEight; ++k) {
        d[k] *= factor;
        da[k] = kScaled ? scale[k] * d[k] : d[k];
        of_bias[k] += d[k];
      }
      write_eight(da, p.da + at);
      if (!kScaled) continue;
      float branch[kEight];
      read_eight(of.a + at, branch);
#pragma unroll
      for (int k = 0; k < kEight; ++k) {
        of_scale[k] += d[k] * (branch[k] + bias[k]);
      }
    }
  }
  if (!has_columns) return;
  const int64_t step = int64_t{gridDim.x} * of.width;
  float* to = p.sums + blockIdx.x * of.width + column;
  write_eight(of_gamma, to);
  write_eight(of_beta, to + step);
  if (p.da != nullptr) write_eight(of_bias, to + 2 * step);
  if (kScaled) write_eight(of_scale, to + 3 * step);
}

/// Threads of a block, a multiple of a warp.
template <class P>
int threads_of(const P& p) {
  if (p.width % kEight != 0 || p.width > kEight * kLanes * kMostWarps) {
    throw std::invalid_argument("[add_norm] no kernel for this width");
  }
  return static_cast<int>(blocks_for(p.width / kEight, kLanes)) * kLanes;
}

/// Wide rows one by one: their blocks have half as many registers a thread.
template <bool kScaled, class C, class N>
void start(const AddNorm<float, C, N>& p, cudaStream_t stream) {
  const unsigned blocks = blocks_for(p.rows, p.rows_each);
  const int threads = threads_of(p);
  if (threads <= kNarrow) {
    add_norm_kernel<2, kNarrow, kScaled><<<blocks, threads, 0, stream>>>(p);
  } else {
    add_norm_kernel<1, 2 * kNarrow, kScaled><<<blocks, threads, 0, stream>>>(p);
  }
}

template <bool kScaled, class C, class N>
void start(const AddNormGradient<float, C, N>& p, cudaStream_t stream) {
  const unsigned blocks = blocks_for(p.of.rows, p.of.rows_each);
  const int threads = threads_of(p.of);
  if (threads <= kNarrow) {
    add_norm_backward_kernel<2, kNarrow, kScaled>
        <<<blocks, threads, 0, stream>>>(p);
  } else {
    add_norm_backward_kernel<1, 2 * kNarrow, kScaled>
        <<<blocks, threads, 0, stream>>>(p);
  }
}

template <class C, class N>
void add_norm(const AddNorm<float, C, N>& p, const RowLaunch& launch) {
  if (p.rows == 0 || p.width == 0) return;
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  p.scale == nullptr ? start<false>(p, stream) : start<true>(p, stream);
  check_cuda(cudaGetLastError(), "add_norm");
}

template <class C, class N>
void add_norm_backward(const AddNormGradient<float, C, N>& p,
                       const RowLaunch& launch) {
  if (p.of.rows == 0 || p.of.width == 0) return;
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  p.of.scale == nullptr ? start<false>(p, stream) : start<true>(p, stream);
  check_cuda(cudaGetLastError(), "add_norm_backward");
}

template <class C, class N>
constexpr AddNormOps<float, C, N> kAddNorm = {add_norm<C, N>,
                                              add_norm_backward<C, N>};
constexpr AddNormOps<double, double, double> kNoAddNorm = {};

}  // namespace

template <>
const AddNormOps<float, float, float>& cuda_add_norm_ops() {
  return kAddNorm<float, float>;
}
template <>
const AddNormOps<double, double, double>& cuda_add_norm_ops() {
  return kNoAddNorm;
}
template <>
const AddNormOps<float, Bf16, Bf16>& cuda_add_norm_ops() {
  return kAddNorm<Bf16, Bf16>;
}
template <>
const AddNormOps<float, Bf16, float>& cuda_add_norm_ops() {
  return kAddNorm<Bf16, float>;
}

}  // namespace kith
