#include "kith/study/correlation.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace kith {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Correlation, PearsonOfKnownNumbers) {
  EXPECT_NEAR(pearson({1, 2, 3, 4}, {2, 4, 6, 8}), 1.0, 1e-12);
  EXPECT_NEAR(pearson({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8, 1e-12);
  EXPECT_NEAR(pearson({1, 2, 3}, {3, 2, 1}), -1.0, 1e-12);
}

TEST(Correlation, SpearmanTakesRanksWithTies) {
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {1, 10, 100, 1000}), 1.0, 1e-12);
  // Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4.
  EXPECT_NEAR(spearman({1, 2, 2, 3}, {1, 3, 2, 4}), 4.5 / std::sqrt(22.5),
              1e-12);
}

TEST(Correlation, IsNotDefinedForFewPairsAndConstants) {
  EXPECT_TRUE(std::isnan(pearson({}, {})));
  EXPECT_TRUE(std::isnan(pearson({1, 2}, {1, 2})));
  EXPECT_TRUE(std::isnan(pearson({1, 2, 3}, {0.1, 0.1, 0.1})));
  EXPECT_TRUE(std::isnan(pearson({1, 2, kNaN}, {1, 2, 3})));
  EXPECT_NEAR(pearson({1, 2, kNaN, 3}, {1, 2, 9, 3}), 1.0, 1e-12);
}

}  // namespace
}  // namespace kith
