#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// The stream on which LibTorch works at the moment, a cudaStream_t; null
/// without CUDA.
void* current_stream();

/// While it lives, float32 matrix products on GPUs use TF32 or they do not,
/// whatever the process has set.
class ProductPrecision {
 public:
  explicit ProductPrecision(bool tf32);
  ~ProductPrecision();
  ProductPrecision(const ProductPrecision&) = delete;
  ProductPrecision& operator=(const ProductPrecision&) = delete;

 private:
  bool before_;
};

/// The most bytes that tensors on a GPU held at once since reset_gpu_peak(),
/// which sets it to what they hold at that moment. Tensors must have been
/// allocated on this GPU before. 0 in a build without CUDA.
int64_t gpu_peak_bytes(int index);
void reset_gpu_peak(int index);

/// Bytes that tensors on a GPU hold now, and bytes that can still be taken:
/// free on the GPU, or kept by LibTorch for reuse. Zeros without CUDA.
struct GpuMemory {
  int64_t used = 0;
  int64_t available = 0;
};
GpuMemory gpu_memory(int index);

/// Gives memory that LibTorch keeps for reuse back to the GPU.
void release_gpu_cache();

/// While it lives, a convolution on a GPU tries this many algorithms when
/// it meets a shape for the first time, and keeps the fastest; with 0 it takes
/// the one that cuDNN expects to be.
class TunedConvolutions {
 public:
  explicit TunedConvolutions(int64_t algorithms);
  ~TunedConvolutions();
  TunedConvolutions(const TunedConvolutions&) = delete;
  TunedConvolutions& operator=(const TunedConvolutions&) = delete;

 private:
  bool before_;
};

/// Whether a GPU, the current one for -1, multiplies matrices of bfloat16
/// faster than others; false in a build without CUDA.
bool has_bf16_products(int index);

/// "NVIDIA H200"; empty in a build without CUDA.
std::string gpu_name(int index);

}  // namespace kith
