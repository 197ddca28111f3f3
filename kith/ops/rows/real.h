#pragma once

// Arithmetic of the row functions, which are compiled four times: for plain
// x86-64, for AVX2, for AVX-512 and for CUDA. A value V is a vector of numbers
// on the CPU and one number on the GPU; the source is the same. Each time
// everything lives in its own namespace: inline functions of the same name but
// other instructions must not be merged by the linker.

#include <cstdint>

#if defined(__CUDACC__)
#define KITH_ROWS on_cuda
#define KITH_HD __host__ __device__ __forceinline__
#define KITH_UNROLL _Pragma("unroll")
#else
#ifndef KITH_ROWS
#define KITH_ROWS plain
#endif
#define KITH_HD inline __attribute__((always_inline))
#define KITH_UNROLL _Pragma("GCC unroll 8")
#endif

#ifndef KITH_VECTOR_BYTES
#define KITH_VECTOR_BYTES 16
#endif

namespace kith::KITH_ROWS {

template <class T>
KITH_HD T min_of(T a, T b) {
  return a < b ? a : b;
}

template <class T>
KITH_HD T max_of(T a, T b) {
  return a > b ? a : b;
}

/// x, cut off at +-most. NaN stays NaN: cut off it would look like a number.
template <class T, class V>
KITH_HD V cut_off(V x, T most) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // An instruction for each end; fmin() and fmax() would drop NaN.
  if constexpr (sizeof(V) == sizeof(float)) {
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(-most));
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(most));
    return x;
  }
#endif
  const V low = x < -most ? V(x * 0 - most) : x;
  return low > most ? V(low * 0 + most) : low;
}

/// Constants of each precision.
template <class T>
struct Real;

template <>
struct Real<float> {
  static constexpr float kLowest = -1e30f;
  /// exp2_of() of arguments up to this size is a normal number.
  static constexpr float kMaxExponent = 126;
};

template <>
struct Real<double> {
  static constexpr double kLowest = -1e300;
  static constexpr double kMaxExponent = 1022;
};

template <class T>
inline constexpr T kLog2E = T(1.4426950408889634);
template <class T>
inline constexpr T kLn2 = T(0.6931471805599453);

#if defined(__CUDACC__)

/// 2^x, x in +-kMaxExponent. Error below 2 ulp in single precision.
KITH_HD float exp2_of(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
KITH_HD double exp2_of(double x) { return exp2(x); }

/// 1/x. Error below 1 ulp in single precision.
KITH_HD float inverse(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}
KITH_HD double inverse(double x) { return 1 / x; }

KITH_HD float sqrt_of(float x) { return sqrtf(x); }
KITH_HD double sqrt_of(double x) { return sqrt(x); }
KITH_HD float log_of(float x) { return logf(x); }
KITH_HD double log_of(double x) { return log(x); }
KITH_HD float log1p_of(float x) { return log1pf(x); }
KITH_HD double log1p_of(double x) { return log1p(x); }

template <class T>
using Vec = T;

#else

template <class T>
struct VecType {
  typedef T type __attribute__((vector_size(KITH_VECTOR_BYTES)));
};
template <class T>
using Vec = typename VecType<T>::type;
template <class T>
inline constexpr int kWidth = KITH_VECTOR_BYTES / sizeof(T);

namespace detail {

/// ln(2)^n / n!, the Taylor coefficients of 2^x.
template <class T, int n>
inline constexpr T kTaylor =
    n == 0 ? T(1) : T(kTaylor<double, (n > 0 ? n - 1 : 0)>* kLn2<double> / n);
template <class T>
inline constexpr T kTaylor<T, 0> = T(1);

template <class T, int n, int degree, class V>
KITH_HD V exp2_series(V x) {
  if constexpr (n == degree) {
    return x * 0 + kTaylor<T, n>;
  } else {
    return exp2_series<T, n + 1, degree>(x) * x + kTaylor<T, n>;
  }
}

/// 2^x = 2^n 2^f, n the nearest integer: a series for 2^f, |f| <= 1/2, and n
/// added to its exponent. NaN stays NaN. Adding 1.5 * 2^mantissa rounds to an
/// integer and leaves n in the low bits.
template <class T, class V, class I, int mantissa, int degree>
KITH_HD V exp2_vector(V x) {
  constexpr T kShift = T(1.5) * T(int64_t{1} << mantissa);
  const V shifted = x + kShift;
  const V fraction = x - (shifted - kShift);
  const V power = exp2_series<T, 0, degree>(fraction);
  const V result = (V)((I)power + ((I)shifted << mantissa));
  return x == x ? result : x;
}

}  // namespace detail

/// 2^x, x in +-kMaxExponent. Error below 2 ulp.
KITH_HD Vec<float> exp2_of(Vec<float> x) {
  return detail::exp2_vector<float, Vec<float>, Vec<int32_t>, 23, 7>(x);
}
KITH_HD Vec<double> exp2_of(Vec<double> x) {
  return detail::exp2_vector<double, Vec<double>, Vec<int64_t>, 52, 13>(x);
}
KITH_HD float exp2_of(float x) { return __builtin_exp2f(x); }
KITH_HD double exp2_of(double x) { return __builtin_exp2(x); }

template <class V>
KITH_HD V inverse(V x) {
  return 1 / x;
}

KITH_HD float sqrt_of(float x) { return __builtin_sqrtf(x); }
KITH_HD double sqrt_of(double x) { return __builtin_sqrt(x); }
KITH_HD Vec<float> sqrt_of(Vec<float> x) {
  for (int i = 0; i < kWidth<float>; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
KITH_HD Vec<double> sqrt_of(Vec<double> x) {
  for (int i = 0; i < kWidth<double>; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
}
KITH_HD float log_of(float x) { return __builtin_logf(x); }
KITH_HD double log_of(double x) { return __builtin_log(x); }
KITH_HD float log1p_of(float x) { return __builtin_log1pf(x); }
KITH_HD double log1p_of(double x) { return __builtin_log1p(x); }

#endif

/// e^x of an argument that is at most about 0 by construction; underflows to
/// (nearly) zero. Relative error about |x| times the precision.
template <class T, class V>
KITH_HD V exp_of(V x) {
  return exp2_of(cut_off<T>(V(x * kLog2E<T>), Real<T>::kMaxExponent));
}

/// log(1 + e^x) without overflow.
template <class T>
KITH_HD T softplus(T x) {
  return x > 0 ? x + log1p_of(exp_of<T>(-x)) : log1p_of(exp_of<T>(x));
}

/// Its derivative.
template <class T>
KITH_HD T logistic(T x) {
  const T e = exp_of<T>(x < 0 ? x : -x);
  return (x < 0 ? e : T(1)) / (1 + e);
}

}  // namespace kith::KITH_ROWS
