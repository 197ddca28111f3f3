#include "kith/eval/student_t.h"

#include <cmath>
#include <iterator>

namespace kith {
namespace {

/// The 0.975 quantile of Student's t with the degrees of freedom of n values.
double t_quantile(size_t n) {
  constexpr double kTable[] = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (n - 2 < std::size(kTable)) return kTable[n - 2];
  // The first terms of its expansion around the normal distribution's.
  constexpr double kNormal = 1.959964;
  constexpr double kCube = kNormal * kNormal * kNormal;
  return kNormal + (kCube + kNormal) / (4 * static_cast<double>(n - 1));
}

double mean_of(const std::vector<double>& values) {
  double mean = 0;
  for (double value : values)
    mean += value / static_cast<double>(values.size());
  return mean;
}

}  // namespace

double half_width_of_mean(const std::vector<double>& values) {
  if (values.size() < 2) return NAN;
  const auto n = static_cast<double>(values.size());
  const double mean = mean_of(values);
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return t_quantile(values.size()) * std::sqrt(squares / (n - 1) / n);
}

Interval interval_of_mean(const std::vector<double>& values) {
  const double mean = mean_of(values);
  const double half = half_width_of_mean(values);
  return {mean - half, mean + half};
}

}  // namespace kith
