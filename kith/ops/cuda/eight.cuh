#pragma once

// Eight numbers of a row that a thread reads or writes at a time: 16 bytes of
// bfloat16, twice 16 of float. They stay as they are in memory until they are
// used, so that several can be on their way in few registers.

#include <cstdint>

#include <cuda_bf16.h>

#include "kith/ops/bf16.h"

namespace kith {

constexpr int kEight = 8;

template <class T>
struct Eight;

template <>
struct Eight<float> {
  float4 low, high;

  __device__ void read(const float* from) {
    low = reinterpret_cast<const float4*>(from)[0];
    high = reinterpret_cast<const float4*>(from)[1];
  }
  __device__ void unpack(float (&x)[kEight]) const {
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
  }
  __device__ void pack(const float (&x)[kEight]) {
    low = make_float4(x[0], x[1], x[2], x[3]);
    high = make_float4(x[4], x[5], x[6], x[7]);
  }
  __device__ void write(float* to) const {
    reinterpret_cast<float4*>(to)[0] = low;
    reinterpret_cast<float4*>(to)[1] = high;
  }
};

template <>
struct Eight<Bf16> {
  uint4 bits;

  __device__ void read(const Bf16* from) {
    bits = *reinterpret_cast<const uint4*>(from);
  }
  __device__ void unpack(float (&x)[kEight]) const {
    const uint32_t pairs[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[2 * i] = __uint_as_float(pairs[i] << 16);
      x[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
    }
  }
  __device__ void pack(const float (&x)[kEight]) {
    bits = make_uint4(pair(x[0], x[1]), pair(x[2], x[3]), pair(x[4], x[5]),
                      pair(x[6], x[7]));
  }
  __device__ void write(Bf16* to) const {
    *reinterpret_cast<uint4*>(to) = bits;
  }

 private:
  /// Both rounded by one instruction, the first into the lower half.
  static __device__ uint32_t pair(float first, float second) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return *reinterpret_cast<const uint32_t*>(&both);
  }
};

template <class T>
__device__ void read_eight(const T* from, float (&x)[kEight]) {
  Eight<T> eight;
  eight.read(from);
  eight.unpack(x);
}

template <class T>
__device__ void write_eight(const float (&x)[kEight], T* to) {
  Eight<T> eight;
  eight.pack(x);
  eight.write(to);
}

__device__ inline void fill_eight(float (&x)[kEight], float value) {
#pragma unroll
  for (int i = 0; i < kEight; ++i) x[i] = value;
}

}  // namespace kith
