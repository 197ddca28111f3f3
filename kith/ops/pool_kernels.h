#pragma once

// Pooling of maps whose channels lie last, without gaps. Plain structs, without
// LibTorch; cpu/ and cuda/ have an implementation each. T is Bf16 or, on the
// CPU, also float and double.

#include <cstdint>

#include "kith/ops/bf16.h"

namespace kith {

/// Generalised means of x [images, positions, channels]: y = m^(1/p), m being
/// the mean of v^p with v = max(x, floor). Then
///     dy/dx = m^(1/p - 1) v^(p - 1) / positions, 0 below the floor,
///     dy/dp = m^(1/p - 1) (mean(v^p log v) / p - m log(m) / p^2).
template <class T>
struct GemPool {
  int64_t images = 0;
  int64_t positions = 0;
  int64_t channels = 0;
  const T* x = nullptr;
  const Sum<T>* power = nullptr;  ///< [1] p
  Sum<T> floor = 0;
  Sum<T>* mean = nullptr;      ///< [images, channels] Of v^p,
  Sum<T>* log_mean = nullptr;  ///< and of v^p log v: gem() makes both.
};

/// The largest number of 3 x 3 positions, at every second one.
template <class T>
struct MaxPool {
  static constexpr int64_t kKernel = 3;
  static constexpr int64_t kStride = 2;
  static constexpr int64_t kPadding = 1;

  /// Of `size` positions in a row.
  static int64_t out_size(int64_t size) {
    return (size + 2 * kPadding - kKernel) / kStride + 1;
  }

  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;  ///< Of x [images, height, width, channels].
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
};

/// The implementation for a kind of processor; null pointers where there is
/// none. On a GPU channels are a multiple of `vector`, and `stream` is a
/// cudaStream_t.
template <class T>
struct PoolKernels {
  int64_t vector = 1;
  /// y [images, channels].
  void (*gem)(const GemPool<T>&, Sum<T>* y, void* stream) = nullptr;
  /// dx of dL/dy, and what each mean adds to dL/dp, [images, channels] each.
  void (*gem_gradient)(const GemPool<T>&, const Sum<T>* dy, T* dx, Sum<T>* dp,
                       void* stream) = nullptr;
  /// y and where in its window the number was, of equal ones the first; like
  /// LibTorch, NaN is larger than all.
  void (*max)(const MaxPool<T>&, const T* x, T* y, uint8_t* place,
              void* stream) = nullptr;
  void (*max_gradient)(const MaxPool<T>&, const T* gradient,
                       const uint8_t* place, T* dx, void* stream) = nullptr;
};

template <class T>
const PoolKernels<T>& cpu_pool_kernels();
template <>
const PoolKernels<float>& cpu_pool_kernels<float>();
template <>
const PoolKernels<double>& cpu_pool_kernels<double>();
template <>
const PoolKernels<Bf16>& cpu_pool_kernels<Bf16>();

template <class T>
const PoolKernels<T>& cuda_pool_kernels();
template <>
const PoolKernels<float>& cuda_pool_kernels<float>();
template <>
const PoolKernels<double>& cuda_pool_kernels<double>();
template <>
const PoolKernels<Bf16>& cuda_pool_kernels<Bf16>();

}  // namespace kith
