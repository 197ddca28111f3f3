#pragma once

// Launching kernels: errors become exceptions.

#include <cstdint>
#include <stdexcept>
#include <string>

#include <cuda_runtime.h>

namespace kith {

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA error in ") + what + ": " +
                             cudaGetErrorString(error));
  }
}

/// Blocks of `per_block` items each that cover `count`.
inline unsigned blocks_for(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace kith
