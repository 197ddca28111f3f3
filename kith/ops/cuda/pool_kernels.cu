// Pooling of maps whose channels lie last. A thread has 16 bytes of channels of
// one picture (GeM), of some of its positions (GeM's gradient) or of one
// position; each number is read and written once.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/cuda/packs.cuh"
#include "kith/ops/pool_kernels.h"

namespace kith {
namespace {

constexpr int kThreads = 128;

/// Positions of a thread of GeM's gradient, which share what belongs to the
/// mean.
constexpr int64_t kPositions = 8;

template <class T>
constexpr int kPack = 16 / sizeof(T);

/// Of positions, that a thread each has.
__host__ __device__ int64_t groups_of(int64_t positions) {
  return (positions + kPositions - 1) / kPositions;
}

__device__ int64_t thread_number() {
  return int64_t{blockIdx.x} * kThreads + threadIdx.x;
}

template <class T>
__global__ void gem_kernel(GemPool<T> p, Sum<T>* y) {
  constexpr int kCount = kPack<T>;
  const int64_t packs = p.channels / kCount;
  const int64_t number = thread_number();
  if (number >= p.images * packs) return;
  const int64_t c = number % packs * kCount;
  const int64_t n = number / packs;
  const T* from = p.x + n * p.positions * p.channels + c;
  const Sum<T> power = *p.power;
  Sum<T> sum[kCount] = {}, log_sum[kCount] = {};
#pragma unroll 4
  for (int64_t i = 0; i < p.positions; ++i) {
    Sum<T> x[kCount];
    load(from + i * p.channels, x);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Sum<T> log_v = logf(x[k] < p.floor ? p.floor : x[k]);
      const Sum<T> v = expf(power * log_v);
      sum[k] += v;
      log_sum[k] += v * log_v;
    }
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    sum[k] /= static_cast<Sum<T>>(p.positions);
    log_sum[k] /= static_cast<Sum<T>>(p.positions);
  }
  store(sum, p.mean + n * p.channels + c);
  store(log_sum, p.log_mean + n * p.channels + c);
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum[k] = powf(sum[k], 1 / power);
  store(sum, y + n * p.channels + c);
}

template <class T>
__global__ void gem_gradient_kernel(GemPool<T> p, const Sum<T>* dy, T* dx,
                                    Sum<T>* dp) {
  constexpr int kCount = kPack<T>;
  const int64_t packs = p.channels / kCount;
  const int64_t groups = groups_of(p.positions);
  const int64_t number = thread_number();
  if (number >= p.images * groups * packs) return;
  const int64_t c = number % packs * kCount;
  const int64_t begin = number / packs % groups * kPositions;
  const int64_t end = min(begin + kPositions, p.positions);
  const int64_t n = number / packs / groups;
  const int64_t at = n * p.channels + c;
  const Sum<T> power = *p.power;
  Sum<T> mean[kCount], share[kCount];
  load(p.mean + at, mean);
  load(dy + at, share);
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    share[k] *= expf((1 / power - 1) * logf(mean[k]));
  }
  if (begin == 0) {
    Sum<T> to_power[kCount];
    load(p.log_mean + at, to_power);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      to_power[k] =
          share[k] * (to_power[k] - mean[k] * logf(mean[k]) / power) / power;
    }
    store(to_power, dp + at);
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) share[k] /= static_cast<Sum<T>>(p.positions);
#pragma unroll 4
  for (int64_t i = begin; i < end; ++i) {
    const int64_t here = (n * p.positions + i) * p.channels + c;
    Sum<T> x[kCount];
    load(p.x + here, x);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      x[k] = x[k] < p.floor ? 0 : share[k] * expf((power - 1) * logf(x[k]));
    }
    store(x, dx + here);
  }
}

template <class T>
__global__ void max_kernel(MaxPool<T> p, const T* x, T* y, uint8_t* place) {
  constexpr int kCount = kPack<T>;
  const int64_t packs = p.channels / kCount;
  const int64_t number = thread_number();
  int64_t rest = number / packs;
  const int64_t column = rest % p.out_width;
  rest /= p.out_width;
  const int64_t row = rest % p.out_height;
  const int64_t n = rest / p.out_height;
  if (n >= p.images) return;
  const T* map =
      x + n * p.height * p.width * p.channels + number % packs * kCount;
  Sum<T> largest[kCount];
  uint8_t where[kCount];
  bool has_one = false;
#pragma unroll
  for (int tap = 0; tap < p.kKernel * p.kKernel; ++tap) {
    const int64_t h = row * p.kStride - p.kPadding + tap / p.kKernel;
    const int64_t w = column * p.kStride - p.kPadding + tap % p.kKernel;
    if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
    Sum<T> value[kCount];
    load(map + (h * p.width + w) * p.channels, value);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const bool is_nan = value[k] != value[k];
      if (has_one && !(value[k] > largest[k]) && !is_nan) continue;
      largest[k] = value[k];
      where[k] = static_cast<uint8_t>(tap);
    }
    has_one = true;
  }
  Pack<uint8_t, kCount> places;
#pragma unroll
  for (int k = 0; k < kCount; ++k) places.numbers[k] = where[k];
  store(largest, y + number * kCount);
  *reinterpret_cast<Pack<uint8_t, kCount>*>(place + number * kCount) = places;
}

template <class T>
__global__ void max_gradient_kernel(MaxPool<T> p, const T* gradient,
                                    const uint8_t* place, T* dx) {
  constexpr int kCount = kPack<T>;
  const int64_t packs = p.channels / kCount;
  const int64_t number = thread_number();
  int64_t rest = number / packs;
  const int64_t w = rest % p.width;
  rest /= p.width;
  const int64_t h = rest % p.height;
  const int64_t n = rest / p.height;
  if (n >= p.images) return;
  const int64_t first = n * p.out_height * p.out_width;
  Sum<T> sum[kCount] = {};
  for (int64_t row = h / 2; row <= (h + 1) / 2 && row < p.out_height; ++row) {
    for (int64_t column = w / 2; column <= (w + 1) / 2 && column < p.out_width;
         ++column) {
      const int64_t tap = (h - row * p.kStride + p.kPadding) * p.kKernel + w -
                          column * p.kStride + p.kPadding;
      const int64_t out = (first + row * p.out_width + column) * p.channels +
                          number % packs * kCount;
      const auto places =
          *reinterpret_cast<const Pack<uint8_t, kCount>*>(place + out);
      Sum<T> g[kCount];
      load(gradient + out, g);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        if (places.numbers[k] == tap) sum[k] += g[k];
      }
    }
  }
  store(sum, dx + number * kCount);
}

/// Blocks of which each thread has a pack of `count` numbers.
template <class T>
unsigned blocks_of_packs(int64_t count) {
  return blocks_for(count / kPack<T>, kThreads);
}

template <class T>
void gem(const GemPool<T>& p, Sum<T>* y, void* stream) {
  if (p.images * p.channels == 0) return;
  gem_kernel<<<blocks_of_packs<T>(p.images * p.channels), kThreads, 0,
               static_cast<cudaStream_t>(stream)>>>(p, y);
  check_cuda(cudaGetLastError(), "gem");
}

template <class T>
void gem_gradient(const GemPool<T>& p, const Sum<T>* dy, T* dx, Sum<T>* dp,
                  void* stream) {
  const int64_t count = p.images * groups_of(p.positions) * p.channels;
  if (count == 0) return;
  gem_gradient_kernel<<<blocks_of_packs<T>(count), kThreads, 0,
                        static_cast<cudaStream_t>(stream)>>>(p, dy, dx, dp);
  check_cuda(cudaGetLastError(), "gem_gradient");
}

template <class T>
void max(const MaxPool<T>& p, const T* x, T* y, uint8_t* place, void* stream) {
  const int64_t count = p.images * p.out_height * p.out_width * p.channels;
  if (count == 0) return;
  max_kernel<<<blocks_of_packs<T>(count), kThreads, 0,
               static_cast<cudaStream_t>(stream)>>>(p, x, y, place);
  check_cuda(cudaGetLastError(), "max_pool");
}

template <class T>
void max_gradient(const MaxPool<T>& p, const T* gradient, const uint8_t* place,
                  T* dx, void* stream) {
  const int64_t count = p.images * p.height * p.width * p.channels;
  if (count == 0) return;
  max_gradient_kernel<<<blocks_of_packs<T>(count), kThreads, 0,
                        static_cast<cudaStream_t>(stream)>>>(p, gradient, place,
                                                             dx);
  check_cuda(cudaGetLastError(), "max_pool_gradient");
}

template <class T>
constexpr PoolKernels<T> kKernels = {kPack<T>, gem<T>, gem_gradient<T>, max<T>,
                                     max_gradient<T>};
template <class T>
constexpr PoolKernels<T> kNotOnAGpu = {};

}  // namespace

template <>
const PoolKernels<float>& cuda_pool_kernels<float>() {
  return kNotOnAGpu<float>;
}
template <>
const PoolKernels<Bf16>& cuda_pool_kernels<Bf16>() {
  return kKernels<Bf16>;
}
template <>
const PoolKernels<double>& cuda_pool_kernels<double>() {
  return kNotOnAGpu<double>;
}

}  // namespace kith
