#include "kith/eval/bootstrap.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/rng.h"

namespace kith {
namespace {

std::vector<double> normal_values(size_t count, uint64_t seed) {
  Rng rng(seed, Stream::kReport);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(rng.normal());
  return values;
}

TEST(Bootstrap, AgreesWithTheNormalInterval) {
  // Of 2000 values with deviation 1 the mean's standard error is 0.0224.
  const std::vector<double> values = normal_values(2000, 1);
  double mean = 0;
  double squares = 0;
  for (double value : values) mean += value / 2000;
  for (double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / 2000 / 2000);
  const Interval interval = bootstrap({values}, 4000, 7)[0];
  // A percentile of 4000 resamples is good to about 4% of the standard error.
  EXPECT_NEAR(interval.low, mean - 1.96 * error, 0.15 * error);
  EXPECT_NEAR(interval.high, mean + 1.96 * error, 0.15 * error);
}

TEST(Bootstrap, CoversTheTruthAsOftenAsItSays) {
  int covered = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Interval interval =
        bootstrap({normal_values(100, seed + 10)}, 300, seed)[0];
    covered += interval.low <= 0 && interval.high >= 0;
  }
  // 95% of 400 is 380, with a standard deviation of 4.4; percentile intervals
  // of 100 values are a little narrow.
  EXPECT_GE(covered, 360);
  EXPECT_LE(covered, 395);
}

TEST(Bootstrap, DependsOnTheSeedAlone) {
  const std::vector<std::vector<double>> values = {normal_values(50, 1),
                                                   normal_values(50, 2)};
  const int threads = torch::get_num_threads();
  const auto a = bootstrap(values, 100, 3);
  torch::set_num_threads(1);
  const auto b = bootstrap(values, 100, 3);
  torch::set_num_threads(threads);
  const auto c = bootstrap(values, 100, 4);
  ASSERT_EQ(a.size(), 2u);
  EXPECT_EQ(a[1].low, b[1].low);
  EXPECT_EQ(a[1].high, b[1].high);
  EXPECT_NE(a[1].low, c[1].low);
}

TEST(Bootstrap, LeavesOutQueriesWithoutAValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Interval one = bootstrap({{nan, 0.25, nan}}, 50, 1)[0];
  EXPECT_EQ(one.low, 0.25);
  EXPECT_EQ(one.high, 0.25);
  EXPECT_TRUE(std::isnan(bootstrap({{nan}}, 50, 1)[0].low));
  EXPECT_TRUE(bootstrap({}, 50, 1).empty());
}

}  // namespace
}  // namespace kith
