#pragma once

#include <vector>

namespace kith {

/// Pearson's correlation of two lists of equal length. Pairs with a number that
/// is not finite are left out. NaN with fewer than three pairs, or if one of
/// the lists is constant.
double pearson(const std::vector<double>& a, const std::vector<double>& b);

/// Spearman's: Pearson's of the ranks, equal numbers having their mean rank.
double spearman(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace kith
