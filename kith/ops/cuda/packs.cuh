#pragma once

// Several numbers of a map at once: a thread reads and writes up to 16 bytes.

#include "kith/ops/bf16.h"

namespace kith {

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T numbers[kCount];
};

template <int kCount, class T>
__device__ __forceinline__ void load(const T* from, Sum<T> (&to)[kCount]) {
  const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
  for (int k = 0; k < kCount; ++k) to[k] = widen(pack.numbers[k]);
}

template <int kCount, class T>
__device__ __forceinline__ void store(const Sum<T> (&from)[kCount], T* to) {
  Pack<T, kCount> pack;
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.numbers[k] = narrow<T>(from[k]);
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

}  // namespace kith
