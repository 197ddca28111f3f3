// Arithmetic of the kernels, as compiled for any processor.

#include "kith/ops/rows/real.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace kith::plain {
namespace {

/// The error of y in units in the last place of the exact number, which is
/// normal.
template <class T>
double ulps(T y, long double exact) {
  const int exponent = std::ilogb(exact);
  const long double ulp =
      std::scalbn(1.0L, exponent + 1 - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<long double>(y) - exact) /
                             ulp);
}

/// The largest error of exp2_of() at `steps` places from low to high.
template <class T>
double worst_error(T low, T high, int64_t steps) {
  double worst = 0;
  for (int64_t i = 0; i <= steps; i += kWidth<T>) {
    Vec<T> x = {};
    for (int lane = 0; lane < kWidth<T>; ++lane) {
      const T share =
          static_cast<T>(std::min(i + lane, steps)) / static_cast<T>(steps);
      x[lane] = low + (high - low) * share;
    }
    const Vec<T> y = exp2_of(x);
    for (int lane = 0; lane < kWidth<T>; ++lane) {
      const long double exact = std::exp2(static_cast<long double>(x[lane]));
      worst = std::max(worst, ulps<T>(y[lane], exact));
    }
  }
  return worst;
}

template <class T>
class RealTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RealTest, Types);

TYPED_TEST(RealTest, PowersAreGoodToTwoUnits) {
  using T = TypeParam;
  constexpr T kMost = Real<T>::kMaxExponent;
  EXPECT_LT(worst_error<T>(-kMost, kMost, 1000003), 2);
  EXPECT_LT(worst_error<T>(-1, 1, 200003), 2);
  EXPECT_LT(worst_error<T>(T(-1e-4), T(1e-4), 10007), 2);
  // About the halves, where the nearest integer changes.
  EXPECT_LT(worst_error<T>(T(7.499), T(7.501), 10007), 2);
  EXPECT_LT(worst_error<T>(T(-8.501), T(-8.499), 10007), 2);
}

TYPED_TEST(RealTest, IntegerPowersAreExact) {
  using T = TypeParam;
  const int most = static_cast<int>(Real<T>::kMaxExponent);
  for (int n = -most; n <= most; ++n) {
    const Vec<T> y = exp2_of(Vec<T>{} + static_cast<T>(n));
    EXPECT_EQ(y[0], std::scalbn(T(1), n)) << n;
    EXPECT_EQ(y[kWidth<T> - 1], y[0]) << n;
  }
}

TYPED_TEST(RealTest, PowersOfNaNAreNaN) {
  using T = TypeParam;
  Vec<T> x = {};
  x[1] = std::numeric_limits<T>::quiet_NaN();
  const Vec<T> y = exp2_of(x);
  EXPECT_EQ(y[0], T(1));
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_TRUE(std::isnan(exp_of<T>(x)[1]));
}

TYPED_TEST(RealTest, LanesAreIndependent) {
  using T = TypeParam;
  Vec<T> x = {};
  for (int lane = 0; lane < kWidth<T>; ++lane) x[lane] = T(0.3) + 9 * lane;
  const Vec<T> y = exp2_of(x);
  for (int lane = 0; lane < kWidth<T>; ++lane) {
    EXPECT_EQ(y[lane], exp2_of(Vec<T>{} + x[lane])[0]);
  }
}

TYPED_TEST(RealTest, CutOffLeavesWhatIsInside) {
  using T = TypeParam;
  constexpr T kBig = std::numeric_limits<T>::max();
  EXPECT_EQ(cut_off<T>(T(3.5), T(4)), T(3.5));
  EXPECT_EQ(cut_off<T>(T(4), T(4)), T(4));
  EXPECT_EQ(cut_off<T>(T(-4), T(4)), T(-4));
  EXPECT_EQ(cut_off<T>(T(4.5), T(4)), T(4));
  EXPECT_EQ(cut_off<T>(-kBig, T(4)), T(-4));
  EXPECT_EQ(cut_off<T>(kBig, T(4)), T(4));
  Vec<T> x = {};
  x[0] = -kBig;
  x[1] = T(1.25);
  const Vec<T> y = cut_off<T>(x, T(4));
  EXPECT_EQ(y[0], T(-4));
  EXPECT_EQ(y[1], T(1.25));
}

TYPED_TEST(RealTest, ExpOfUnderflowsToNearlyZero) {
  using T = TypeParam;
  constexpr T kTiny = std::numeric_limits<T>::min();
  EXPECT_EQ(exp_of<T>(T(0)), T(1));
  EXPECT_NEAR(static_cast<double>(exp_of<T>(T(-1))), std::exp(-1.0), 1e-7);
  for (const T x : {T(-1e4), Real<T>::kLowest}) {
    EXPECT_GE(exp_of<T>(x), 0);
    EXPECT_LE(exp_of<T>(x), kTiny);
  }
}

TYPED_TEST(RealTest, SoftplusAndItsDerivative) {
  using T = TypeParam;
  constexpr double kPrecision = std::numeric_limits<T>::epsilon();
  for (double x = -80; x <= 80; x += 0.125) {
    const long double e = std::exp(static_cast<long double>(x));
    const long double softplus_of = std::log1p(e);
    const long double logistic_of = e / (1 + e);
    const double digits = kPrecision * (2 + std::abs(x));
    const T at = static_cast<T>(x);
    EXPECT_NEAR(static_cast<double>(softplus<T>(at) / softplus_of), 1, digits)
        << x;
    EXPECT_NEAR(static_cast<double>(logistic<T>(at) / logistic_of), 1, digits)
        << x;
  }
}

TYPED_TEST(RealTest, SoftplusAtTheExtremes) {
  using T = TypeParam;
  constexpr T kTiny = std::numeric_limits<T>::min();
  for (const T x : {T(2e3), T(1e10), -Real<T>::kLowest}) {
    EXPECT_EQ(softplus<T>(x), x);
    EXPECT_EQ(logistic<T>(x), T(1));
    EXPECT_GE(softplus<T>(-x), 0);
    EXPECT_LE(softplus<T>(-x), kTiny);
    EXPECT_GE(logistic<T>(-x), 0);
    EXPECT_LE(logistic<T>(-x), kTiny);
  }
}

}  // namespace
}  // namespace kith::plain
