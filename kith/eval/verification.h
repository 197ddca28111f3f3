#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kith/eval/group_draws.h"
#include "kith/eval/scored.h"

namespace kith {

/// All pairs of a set (pair_blocks.h), positive ones of one class and negative
/// ones of two, counted by similarity: exact at every threshold
/// (similarity_cells.h), in 34 MB whatever the set.
struct PairCells {
  std::vector<int64_t> positives;  ///< [kCells]
  std::vector<int64_t> negatives;
  int64_t positive_pairs = 0;
  int64_t negative_pairs = 0;
};

/// Ranks that have the set together count a part each, and all get the sums.
PairCells count_pair_cells(const ScoredSet& set);

/// The least cell whose threshold accepts at most far * N_negative negative
/// pairs; none if even that of 1 accepts more.
std::optional<int64_t> cell_for_far(const PairCells& pairs, double far);

/// P(s_positive > s_negative) + P(s_positive = s_negative) / 2 over all pairs
/// of a positive and a negative pair, equal where they share a cell. NaN
/// without either kind.
double auroc(const PairCells& pairs);

/// Average precision: the sum over falling thresholds t of precision(t) times
/// what TAR gains at t. NaN without positives.
double auprc(const PairCells& pairs);

/// Shares at thresholds: of positive pairs (TAR) and of negative pairs (FAR)
/// that are accepted, and of accepted pairs those that are positive. NaN where
/// there is nothing to share.
struct PairRates {
  std::vector<double> far;
  std::vector<double> tar;
  std::vector<double> precision;
};

/// Of rising cells.
PairRates pair_rates(const PairCells& pairs, const std::vector<int64_t>& cells);

/// Cells, rising, for curves: those where FAR comes down to 1, 10^(-1/8),
/// 10^(-2/8), ..., those where TAR does to 1, 31/32, 30/32, ..., and every 1/32
/// of similarity from the least to the largest.
std::vector<int64_t> curve_cells(const PairCells& pairs);

/// The same rates when groups of classes are drawn as `draws` says
/// (group_draws): a pair of two classes counts as often as both of its groups
/// together, w_g w_h, a pair of one class as often as its group, w_g. Counts
/// the pairs again, in 8 T G^2 bytes. [resamples][cells]
std::vector<PairRates> drawn_pair_rates(const ScoredSet& set,
                                        const ClassGroups& groups,
                                        const std::vector<int64_t>& cells,
                                        const Tensor& draws);

}  // namespace kith
