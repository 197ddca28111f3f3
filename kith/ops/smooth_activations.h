#pragma once

// Activations of transformers and their slopes, for kernels; at the corners of
// ReLU6 that of clamp(), which is 1 (see activated() in bias_activation.h).
// Math has the functions they are made of: the processor's own, or quicker ones
// where the result is rounded to bfloat16 anyway.

#include <cmath>

#include "kith/ops/bf16.h"

namespace kith {

struct ExactMath {
  /// The normal distribution function; `bell` is exp(-x^2 / 2).
  template <class T>
  static KITH_BOTH_SIDES T normal(T x, T /*bell*/) {
    return std::erfc(x * T(-0.70710678118654752440)) / 2;
  }
  template <class T>
  static KITH_BOTH_SIDES T exp(T x) {
    return std::exp(x);
  }
  template <class T>
  static KITH_BOTH_SIDES T sigmoid(T x) {
    return 1 / (1 + std::exp(-x));
  }
};

template <class T>
struct ValueAndSlope {
  T value;
  T slope;
};

/// x sigmoid(z(x)), given z and its slope.
template <class Math, class T>
KITH_BOTH_SIDES ValueAndSlope<T> gated_by_sigmoid(T x, T z, T slope) {
  const T s = Math::sigmoid(z);
  return {x * s, s + x * s * (1 - s) * slope};
}

struct Gelu {
  template <class Math, class T>
  static KITH_BOTH_SIDES ValueAndSlope<T> at(T x) {
    const T bell = Math::exp(x * x / -2);
    const T part = Math::normal(x, bell);
    return {x * part, part + x * bell * T(0.39894228040143267794)};
  }
};

/// x (1 + tanh(z)) / 2 = x sigmoid(2 z), z = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  template <class Math, class T>
  static KITH_BOTH_SIDES ValueAndSlope<T> at(T x) {
    constexpr T kTwice = T(1.59576912160573071176);  // 2 sqrt(2 / pi)
    constexpr T kCubic = T(0.044715);
    const T square = x * x;
    return gated_by_sigmoid<Math>(x, kTwice * x * (1 + kCubic * square),
                                  kTwice * (1 + 3 * kCubic * square));
  }
};

struct QuickGelu {
  template <class Math, class T>
  static KITH_BOTH_SIDES ValueAndSlope<T> at(T x) {
    return gated_by_sigmoid<Math>(x, T(1.702) * x, T(1.702));
  }
};

/// The gate of SwiGLU.
struct Silu {
  template <class Math, class T>
  static KITH_BOTH_SIDES ValueAndSlope<T> at(T x) {
    return gated_by_sigmoid<Math>(x, x, T(1));
  }
};

/// With LibTorch's slopes at 0 and 6. NaN stays NaN.
struct Relu6 {
  template <class Math, class T>
  static KITH_BOTH_SIDES ValueAndSlope<T> at(T x) {
    if (x < 0) return {T(0), T(0)};
    if (x > 6) return {T(6), T(0)};
    return {x, T(1)};
  }
};

}  // namespace kith
