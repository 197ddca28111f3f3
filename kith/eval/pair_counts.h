#pragma once

#include "kith/eval/scored.h"

namespace kith {

/// The share of positive pairs that are accepted when as many pairs are as the
/// false acceptance rate allows: those more similar than t, with the least t
/// for which at most far * N_negative negative pairs are. Pairs are those of a
/// query and a gallery item, a query's own item left out; each pair once if
/// items are searched among themselves. NaN without positives or negatives.
///
/// Exact, without sorting: similarities (products in double, rounded to
/// float32) are counted twice, first by the upper half of their bits and then,
/// in the range where t lies, by the lower half. The first count is shared
/// between rates.
double true_acceptance_rate(const ScoredSet& set, double far);

}  // namespace kith
