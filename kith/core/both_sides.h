#pragma once

// Functions that kernels on a GPU share with code for the CPU.

#if defined(__CUDACC__)
#define KITH_BOTH_SIDES __host__ __device__ __forceinline__
#else
#define KITH_BOTH_SIDES inline
#endif
