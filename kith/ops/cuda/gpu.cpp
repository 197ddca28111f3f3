#include "kith/ops/gpu.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

namespace kith {

void* current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

ProductPrecision::ProductPrecision(bool tf32)
    : before_(at::globalContext().allowTF32CuBLAS()) {
  if (tf32 != before_) at::globalContext().setAllowTF32CuBLAS(tf32);
}

ProductPrecision::~ProductPrecision() {
  if (at::globalContext().allowTF32CuBLAS() != before_) {
    at::globalContext().setAllowTF32CuBLAS(before_);
  }
}

int64_t gpu_peak_bytes(int index) {
  // Entry 0 of a statistic is the sum over all pools.
  return c10::cuda::CUDACachingAllocator::getDeviceStats(
             static_cast<c10::DeviceIndex>(index))
      .allocated_bytes[0]
      .peak;
}

void reset_gpu_peak(int index) {
  c10::cuda::CUDACachingAllocator::resetPeakStats(
      static_cast<c10::DeviceIndex>(index));
}

GpuMemory gpu_memory(int index) {
  const auto device = static_cast<c10::DeviceIndex>(index);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
  const c10::cuda::CUDAGuard guard(device);
  size_t free = 0;
  size_t total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  GpuMemory memory;
  memory.used = stats.allocated_bytes[0].current;
  memory.available = static_cast<int64_t>(free) +
                     stats.reserved_bytes[0].current - memory.used;
  return memory;
}

void release_gpu_cache() { c10::cuda::CUDACachingAllocator::emptyCache(); }

TunedConvolutions::TunedConvolutions(int64_t algorithms)
    : before_(at::globalContext().benchmarkCuDNN()) {
  at::globalContext().setBenchmarkCuDNN(algorithms > 0);
  if (algorithms > 0) {
    at::globalContext().setBenchmarkLimitCuDNN(static_cast<int>(algorithms));
  }
}

TunedConvolutions::~TunedConvolutions() {
  at::globalContext().setBenchmarkCuDNN(before_);
}

bool has_bf16_products(int index) {
  if (index < 0) C10_CUDA_CHECK(cudaGetDevice(&index));
  int major = 0;
  C10_CUDA_CHECK(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
  return major >= 8;
}

std::string gpu_name(int index) {
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, index);
  return status == cudaSuccess ? properties.name : "";
}

}  // namespace kith
