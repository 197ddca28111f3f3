#pragma once

#include <vector>

#include "kith/eval/evaluate.h"

namespace kith {

/// 95% intervals of the means of several quantities measured on the same
/// queries: the 2.5th and 97.5th percentile of `resamples` means, each over as
/// many queries drawn with replacement. values[m][q]; a query whose value is
/// NaN is not drawn, and is NaN in all m. Depends on the seed alone, not on
/// threads. Without queries the intervals are NaN.
std::vector<Interval> bootstrap(const std::vector<std::vector<double>>& values,
                                int64_t resamples, uint64_t seed);

/// The 2.5th and 97.5th percentile of values that resamples gave; those that
/// are NaN are left out. NaN without any.
Interval percentile_interval(std::vector<double> values);

}  // namespace kith
