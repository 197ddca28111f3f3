#include "kith/eval/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ATen/Parallel.h>

#include "kith/core/rng.h"

namespace kith {
namespace {

/// The p-th quantile of sorted numbers, between two of them by their distance.
double quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

std::vector<Interval> bootstrap(const std::vector<std::vector<double>>& values,
                                int64_t resamples, uint64_t seed) {
  const size_t width = values.size();
  if (width == 0) return {};
  // Query after query, so that a drawn query is one piece of memory.
  std::vector<double> rows;
  for (size_t q = 0; q < values[0].size(); ++q) {
    if (std::isnan(values[0][q])) continue;
    for (const std::vector<double>& value : values) rows.push_back(value[q]);
  }
  const size_t count = rows.size() / width;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (count == 0 || resamples == 0) return {width, Interval{kNan, kNan}};

  std::vector<std::vector<double>> means(
      width, std::vector<double>(static_cast<size_t>(resamples)));
  at::parallel_for(0, resamples, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(width);
    for (int64_t r = begin; r < end; ++r) {
      Rng rng(seed, Stream::kBootstrap, {r});
      std::fill(sums.begin(), sums.end(), 0.0);
      for (size_t i = 0; i < count; ++i) {
        const double* row = rows.data() + rng.below(count) * width;
        for (size_t m = 0; m < width; ++m) sums[m] += row[m];
      }
      for (size_t m = 0; m < width; ++m) {
        means[m][static_cast<size_t>(r)] = sums[m] / static_cast<double>(count);
      }
    }
  });
  std::vector<Interval> intervals;
  for (std::vector<double>& sample : means) {
    intervals.push_back(percentile_interval(std::move(sample)));
  }
  return intervals;
}

Interval percentile_interval(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {kNan, kNan};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.025), quantile(values, 0.975)};
}

}  // namespace kith
