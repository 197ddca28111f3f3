// A warp has a row. It reads the row again for each step, from the cache: rows
// are an embedding long.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/unit_kernels.h"

namespace kith {
namespace {

constexpr int kLanes = 32;
constexpr int kRows = 4;  ///< Of a block.

template <class T>
__device__ T sum_over_row(T x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, step);
  }
  return x;
}

template <class T>
__device__ T largest_of_row(T x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    x = fmax(x, __shfl_xor_sync(0xffffffffu, x, step));
  }
  return x;
}

__device__ int64_t row_number() {
  return int64_t{blockIdx.x} * kRows + threadIdx.x / kLanes;
}

template <class T>
__global__ void unit_rows_kernel(UnitRows<T> p) {
  const int64_t row = row_number();
  if (row >= p.rows) return;
  const int lane = threadIdx.x % kLanes;
  const T* x = p.x + row * p.width;
  T* unit = p.unit + row * p.width;
  T largest = 0;
#pragma unroll 8
  for (int64_t k = lane; k < p.width; k += kLanes) {
    largest = fmax(largest, fabs(x[k]));
  }
  const T scale = power_of_two_in(largest_of_row(largest));
  T sum = 0;
#pragma unroll 8
  for (int64_t k = lane; k < p.width; k += kLanes) {
    const T scaled = x[k] / scale;
    sum += scaled * scaled;
  }
  sum = sum_over_row(sum);
  const T norm = sum == 0 ? T(1) : sqrt(sum);
#pragma unroll 8
  for (int64_t k = lane; k < p.width; k += kLanes) {
    unit[k] = x[k] / scale / norm;
  }
  if (lane != 0) return;
  p.scale[row] = scale;
  p.norm[row] = norm;
}

template <class T>
__global__ void unit_rows_gradient_kernel(UnitRowsGradient<T> p) {
  const int64_t row = row_number();
  if (row >= p.of.rows) return;
  const int lane = threadIdx.x % kLanes;
  const int64_t first = row * p.of.width;
  const T* unit = p.of.unit + first;
  const T* du = p.du + first;
  T along = 0;
#pragma unroll 8
  for (int64_t k = lane; k < p.of.width; k += kLanes) along += unit[k] * du[k];
  along = sum_over_row(along);
  const T scale = p.of.scale[row], norm = p.of.norm[row];
#pragma unroll 8
  for (int64_t k = lane; k < p.of.width; k += kLanes) {
    p.dx[first + k] = (du[k] - unit[k] * along) / norm / scale;
  }
}

template <class T>
void unit_rows(const UnitRows<T>& p, void* stream) {
  if (p.rows == 0) return;
  unit_rows_kernel<<<blocks_for(p.rows, kRows), kRows * kLanes, 0,
                     static_cast<cudaStream_t>(stream)>>>(p);
  check_cuda(cudaGetLastError(), "unit_rows");
}

template <class T>
void unit_rows_gradient(const UnitRowsGradient<T>& p, void* stream) {
  if (p.of.rows == 0) return;
  unit_rows_gradient_kernel<<<blocks_for(p.of.rows, kRows), kRows * kLanes, 0,
                              static_cast<cudaStream_t>(stream)>>>(p);
  check_cuda(cudaGetLastError(), "unit_rows_gradient");
}

template <class T>
constexpr UnitKernels<T> kKernels = {unit_rows<T>, unit_rows_gradient<T>};

}  // namespace

template <>
const UnitKernels<float>& cuda_unit_kernels<float>() {
  return kKernels<float>;
}
template <>
const UnitKernels<double>& cuda_unit_kernels<double>() {
  return kKernels<double>;
}

}  // namespace kith
