#pragma once

#include <vector>

#include "kith/eval/evaluate.h"

namespace kith {

/// How far the mean of some independent values may be off, at 95% (Student's
/// t): t s / sqrt(n), with the deviation s of the n values. NaN with fewer than
/// two.
double half_width_of_mean(const std::vector<double>& values);

/// The mean, and as far to both sides.
Interval interval_of_mean(const std::vector<double>& values);

}  // namespace kith
