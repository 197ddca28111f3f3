#include "kith/core/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace kith {
namespace {

std::array<uint64_t, 3> first(Rng rng) {
  std::array<uint64_t, 3> values;
  for (uint64_t& value : values) value = rng.next();
  return values;
}

// Published results depend on these numbers: they must never change.
TEST(Rng, GivesTheSameNumbersForever) {
  using Values = std::array<uint64_t, 3>;
  EXPECT_EQ(first(Rng(0, Stream::kSampler)),
            (Values{16042310585272685583u, 732912109157917521u,
                    8200440441407238722u}));
  EXPECT_EQ(first(Rng(7, Stream::kAugment, {1, 2, 3})),
            (Values{219083982386405730u, 3064471770087983734u,
                    8187110616033829047u}));
  EXPECT_EQ(first(Rng(UINT64_MAX, Stream::kInit, {-1})),
            (Values{12355898208013463474u, 2260687175583145941u,
                    10089794258029816097u}));
  Rng rng(1, Stream::kGlyphImage, {4, 5});
  EXPECT_EQ(rng.below(1000), 38u);
  EXPECT_EQ(rng.between(-500, 500), -10);
  EXPECT_EQ(rng.uniform(), 0.5105820639025804);
  std::vector<int> values = {0, 1, 2, 3, 4, 5, 6, 7};
  rng.shuffle(values);
  EXPECT_EQ(values, (std::vector<int>{6, 2, 4, 5, 1, 3, 0, 7}));
}

TEST(Rng, StreamsKeepTheirNumbers) {
  EXPECT_EQ(static_cast<uint64_t>(Stream::kGlyphClass), 1u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kGlyphImage), 2u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kSampler), 3u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kAugment), 4u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kMiner), 5u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kInit), 6u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kStep), 7u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kReport), 8u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kSimix), 9u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kMixup), 10u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kLossInit), 11u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kLossDraw), 12u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kCorrupt), 13u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kCluster), 14u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kBootstrap), 15u);
  EXPECT_EQ(static_cast<uint64_t>(Stream::kProtocol), 16u);
}

TEST(Rng, EveryPartOfTheKeyCounts) {
  const std::array<uint64_t, 3> base = first(Rng(5, Stream::kAugment, {1, 2}));
  EXPECT_EQ(first(Rng(5, Stream::kAugment, {1, 2})), base);
  EXPECT_NE(first(Rng(6, Stream::kAugment, {1, 2})), base);
  EXPECT_NE(first(Rng(5, Stream::kSampler, {1, 2})), base);
  EXPECT_NE(first(Rng(5, Stream::kAugment, {2, 1})), base);
  EXPECT_NE(first(Rng(5, Stream::kAugment, {1})), base);
  EXPECT_NE(first(Rng(5, Stream::kAugment, {1, 2, 0})), base);
}

TEST(Rng, NearbyKeysAreUnrelated) {
  std::set<uint64_t> seen;
  int64_t ones = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (int64_t a = 0; a < 50; ++a) {
      for (int64_t b = 0; b < 50; ++b) {
        const uint64_t value = Rng(seed, Stream::kAugment, {a, b}).next();
        seen.insert(value);
        ones += __builtin_popcountll(value);
      }
    }
  }
  EXPECT_EQ(seen.size(), 50'000u);
  EXPECT_NEAR(static_cast<double>(ones) / 50'000, 32.0, 0.1);
}

TEST(Rng, BelowIsEven) {
  Rng rng(1, Stream::kSampler);
  for (const uint64_t n : {1u, 2u, 3u, 10u, 16u}) {
    std::vector<int> counts(n, 0);
    for (uint64_t i = 0; i < 10'000 * n; ++i) {
      const uint64_t value = rng.below(n);
      ASSERT_LT(value, n);
      ++counts[value];
    }
    // Five standard deviations of 100.
    for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  }
}

TEST(Rng, BelowHasNoBiasForLargeBounds) {
  // 3/4 of 2^64: taking the remainder alone would give the lower third twice
  // as often as the rest.
  constexpr uint64_t kBound = uint64_t{3} << 62;
  Rng rng(2, Stream::kSampler);
  int low = 0;
  for (int i = 0; i < 30'000; ++i) {
    const uint64_t value = rng.below(kBound);
    ASSERT_LT(value, kBound);
    low += value < kBound / 3;
  }
  EXPECT_NEAR(low, 10'000, 450);
  EXPECT_THROW(rng.below(0), std::logic_error);
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(3, Stream::kSampler);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.between(-2, 2));
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(rng.between(9, 9), 9);
}

TEST(Rng, UniformStaysInItsInterval) {
  Rng rng(4, Stream::kAugment);
  double sum = 0.0;
  double least = 1.0;
  double most = 0.0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = rng.uniform();
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
    const double other = rng.uniform(-3.0, -2.0);
    ASSERT_TRUE(other >= -3.0 && other < -2.0);
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(least, 1e-3);
  EXPECT_LT(most, 1.0);
  EXPECT_GT(most, 1 - 1e-3);
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

TEST(Rng, NormalHasTheMomentsOfTheNormalDistribution) {
  Rng rng(6, Stream::kCorrupt);
  constexpr int kCount = 100'000;
  double mean = 0.0;
  double square = 0.0;
  double fourth = 0.0;
  double product = 0.0;  // of neighbours: the two of a pair, and of two pairs
  int within = 0;
  double last = rng.normal();
  for (int i = 0; i < kCount; ++i) {
    const double value = rng.normal();
    mean += value / kCount;
    square += value * value / kCount;
    fourth += value * value * value * value / kCount;
    product += value * last / kCount;
    within += std::abs(value) < 1.0;
    last = value;
  }
  // Five standard errors: the variances of x, x^2, x^4, the product and the
  // count are 1, 2, 96, 1 and 0.683 * 0.317 a draw.
  const double unit = 5.0 / std::sqrt(kCount);
  EXPECT_NEAR(mean, 0.0, unit);
  EXPECT_NEAR(square, 1.0, unit * std::sqrt(2.0));
  EXPECT_NEAR(fourth, 3.0, unit * std::sqrt(96.0));
  EXPECT_NEAR(product, 0.0, unit);
  EXPECT_NEAR(static_cast<double>(within) / kCount, 0.6827, unit * 0.4654);
}

TEST(Rng, NormalKeepsItsNumbers) {
  Rng rng(1, Stream::kCorrupt, {2});
  EXPECT_NEAR(rng.normal(), 1.003265549302873, 1e-14);
  EXPECT_NEAR(rng.normal(), -0.22325455597556926, 1e-14);
  EXPECT_NEAR(rng.normal(), -0.96781016809718001, 1e-14);
  // A copy gives what the original gives, the kept number included.
  Rng copy = rng;
  EXPECT_EQ(copy.normal(), rng.normal());
  EXPECT_EQ(copy.normal(), rng.normal());
}

TEST(Rng, ShuffleIsAnEvenPermutationOfTheValues) {
  Rng rng(5, Stream::kSampler);
  std::array<std::array<int, 4>, 4> counts{};  // value, place
  for (int i = 0; i < 40'000; ++i) {
    std::vector<size_t> values(4);
    std::iota(values.begin(), values.end(), size_t{0});
    rng.shuffle(values);
    for (size_t place = 0; place < 4; ++place) ++counts[values[place]][place];
  }
  // Each row sums to 40 000 and each column too: every value everywhere.
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 10'000, 500);
  }
  std::vector<int> none;
  rng.shuffle(none);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace kith
