#pragma once

#include <cstdint>
#include <cstring>

#include "kith/core/both_sides.h"

// bfloat16 for kernels, which see no LibTorch: the upper half of a float. It
// has the bits of c10::BFloat16 and of __nv_bfloat16, and a CPU rounds as a GPU
// does, to the nearest, ties to even.

namespace kith {

struct Bf16 {
  uint16_t bits = 0;
};

/// What numbers of type T are computed and added up in.
template <class T>
struct SumType {
  using type = T;
};
template <>
struct SumType<Bf16> {
  using type = float;
};
template <class T>
using Sum = typename SumType<T>::type;

KITH_BOTH_SIDES float widen(float x) { return x; }
KITH_BOTH_SIDES double widen(double x) { return x; }
KITH_BOTH_SIDES float widen(Bf16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
#endif
}

/// To T, rounded.
template <class T, class S>
KITH_BOTH_SIDES T narrow(S x) {
  return static_cast<T>(x);
}
template <>
KITH_BOTH_SIDES Bf16 narrow<Bf16, float>(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Bf16 rounded;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(x));
  return rounded;
#else
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (x != x) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
#endif
}

}  // namespace kith
