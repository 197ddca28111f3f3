#include "kith/study/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Pairs {
  std::vector<double> a;
  std::vector<double> b;
};

Pairs finite_pairs(const std::vector<double>& a, const std::vector<double>& b) {
  KITH_ASSERT(a.size() == b.size());
  Pairs pairs;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    pairs.a.push_back(a[i]);
    pairs.b.push_back(b[i]);
  }
  return pairs;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double pearson_of(const Pairs& pairs) {
  if (pairs.a.size() < 3) return kNaN;
  const double mean_a = mean_of(pairs.a), mean_b = mean_of(pairs.b);
  double aa = 0.0, bb = 0.0, ab = 0.0;
  for (size_t i = 0; i < pairs.a.size(); ++i) {
    const double da = pairs.a[i] - mean_a, db = pairs.b[i] - mean_b;
    aa += da * da;
    bb += db * db;
    ab += da * db;
  }
  // What rounding leaves of a constant's variance is no variance.
  const auto constant = [&](double sum, double mean) {
    return sum <= 1e-24 * mean * mean * static_cast<double>(pairs.a.size());
  };
  if (constant(aa, mean_a) || constant(bb, mean_b)) return kNaN;
  return std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0);
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    const double rank = static_cast<double>(begin + end - 1) / 2;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

}  // namespace

double pearson(const std::vector<double>& a, const std::vector<double>& b) {
  return pearson_of(finite_pairs(a, b));
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const Pairs pairs = finite_pairs(a, b);
  return pearson_of({ranks_of(pairs.a), ranks_of(pairs.b)});
}

}  // namespace kith
