#pragma once

// Rows made unit vectors, for a CPU and for CUDA: plain structs, without
// LibTorch; cpu/ and cuda/ have an implementation each. T is float or double.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kith/core/both_sides.h"

namespace kith {

/// unit = x / scale / norm, row by row. The scale is the power of two that
/// brings the largest number of the row to 1 up to 2, so that no square
/// overflows or vanishes; 1 for a row of zeros. The norm is that of x / scale,
/// and 1 in the place of 0.
template <class T>
struct UnitRows {
  int64_t rows = 0;
  int64_t width = 0;
  const T* x = nullptr;  ///< [rows, width]
  T* unit = nullptr;     ///< [rows, width]
  T* scale = nullptr;    ///< [rows]
  T* norm = nullptr;     ///< [rows]
};

/// dx = (du - unit (unit du)) / norm / scale, row by row.
template <class T>
struct UnitRowsGradient {
  UnitRows<T> of;         ///< Without x.
  const T* du = nullptr;  ///< [rows, width] dL/dunit
  T* dx = nullptr;        ///< [rows, width]
};

/// Of a floating point number the bits of the exponent alone are its power of
/// two. None are set in zero and in what is next to it: 1.
template <class T>
KITH_BOTH_SIDES T power_of_two_in(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent = sizeof(T) == 4
                                 ? static_cast<Bits>(0x7f800000)
                                 : static_cast<Bits>(0x7ff0000000000000);
  Bits bits;
  memcpy(&bits, &x, sizeof(bits));
  bits &= kExponent;
  T power;
  memcpy(&power, &bits, sizeof(power));
  return bits == 0 ? T(1) : power;
}

/// The implementation for a kind of processor; null pointers where there is
/// none. `stream` is a cudaStream_t.
template <class T>
struct UnitKernels {
  void (*forward)(const UnitRows<T>&, void* stream) = nullptr;
  void (*backward)(const UnitRowsGradient<T>&, void* stream) = nullptr;
};

template <class T>
const UnitKernels<T>& cpu_unit_kernels();
template <>
const UnitKernels<float>& cpu_unit_kernels<float>();
template <>
const UnitKernels<double>& cpu_unit_kernels<double>();

template <class T>
const UnitKernels<T>& cuda_unit_kernels();
template <>
const UnitKernels<float>& cuda_unit_kernels<float>();
template <>
const UnitKernels<double>& cuda_unit_kernels<double>();

}  // namespace kith
