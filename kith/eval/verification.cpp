#include "kith/eval/verification.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/eval/pair_blocks.h"
#include "kith/eval/similarity_cells.h"

namespace kith {
namespace {

constexpr double kNoShare = std::numeric_limits<double>::quiet_NaN();

/// Sums of whole numbers: the same in any order of the threads.
void add_one(int64_t& count) {
  std::atomic_ref<int64_t>(count).fetch_add(1, std::memory_order_relaxed);
}

template <class Visit>
void visit_all_pairs(const ScoredSet& set, const Visit& visit) {
  const torch::NoGradGuard no_grad;
  const PairRows rows(set);
  for_each_pair_block(set, [&](const PairBlock& block) {
    at::parallel_for(0, block.similarities.size(0), 16,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t row = begin; row < end; ++row) {
                         rows.visit(block, row, visit);
                       }
                     });
  });
}

double ratio(double part, double all) {
  return all > 0 ? part / all : kNoShare;
}

/// Pairs that are accepted at rising cells, by groups.
struct GroupedPairs {
  Tensor positives;      ///< [T, G] double
  Tensor negatives;      ///< [T, G, G]: group of the query, of the item.
  Tensor all_positives;  ///< [G]
  Tensor all_negatives;  ///< [G, G]
};

/// counts[i] is of cells with i of the thresholds at or below them: the pairs
/// accepted at threshold i are those of i + 1 and more.
void accept(const std::vector<int64_t>& counts,
            const std::vector<int64_t>& shape, Tensor& accepted, Tensor& all) {
  const Tensor by_number =
      torch::tensor(counts, torch::kLong).view(shape).to(torch::kDouble);
  const Tensor from_top = by_number.flip(0).cumsum(0).flip(0);
  accepted = from_top.slice(0, 1);
  all = from_top[0];
}

GroupedPairs count_grouped_pairs(const ScoredSet& set,
                                 const ClassGroups& groups,
                                 const std::vector<int64_t>& cells) {
  const auto thresholds = std::ssize(cells);
  std::vector<int32_t> passed(static_cast<size_t>(kCells));
  for (const int64_t cell : cells) ++passed[static_cast<size_t>(cell)];
  std::partial_sum(passed.begin(), passed.end(), passed.begin());
  const int64_t g = groups.groups;
  std::vector<int64_t> positives(static_cast<size_t>((thresholds + 1) * g));
  std::vector<int64_t> negatives(static_cast<size_t>((thresholds + 1) * g * g));
  visit_all_pairs(set, [&](const Pair& pair) {
    const int64_t number = passed[static_cast<size_t>(
        cell_of(static_cast<double>(pair.similarity)))];
    const int64_t row =
        number * g + groups.of_query[static_cast<size_t>(pair.query)];
    if (pair.is_positive) {
      add_one(positives[static_cast<size_t>(row)]);
    } else {
      add_one(negatives[static_cast<size_t>(
          row * g + groups.of_item[static_cast<size_t>(pair.item)])]);
    }
  });
  add_counts_of_others(set.ranks, positives);
  add_counts_of_others(set.ranks, negatives);
  GroupedPairs result;
  accept(positives, {thresholds + 1, g}, result.positives,
         result.all_positives);
  accept(negatives, {thresholds + 1, g, g}, result.negatives,
         result.all_negatives);
  return result;
}

}  // namespace

PairCells count_pair_cells(const ScoredSet& set) {
  PairCells pairs;
  pairs.positives.resize(static_cast<size_t>(kCells));
  pairs.negatives.resize(static_cast<size_t>(kCells));
  visit_all_pairs(set, [&](const Pair& pair) {
    auto& counts = pair.is_positive ? pairs.positives : pairs.negatives;
    add_one(counts[static_cast<size_t>(
        cell_of(static_cast<double>(pair.similarity)))]);
  });
  add_counts_of_others(set.ranks, pairs.positives);
  add_counts_of_others(set.ranks, pairs.negatives);
  pairs.positive_pairs = std::accumulate(pairs.positives.begin(),
                                         pairs.positives.end(), int64_t{0});
  pairs.negative_pairs = std::accumulate(pairs.negatives.begin(),
                                         pairs.negatives.end(), int64_t{0});
  return pairs;
}

std::optional<int64_t> cell_for_far(const PairCells& pairs, double far) {
  const auto all = static_cast<double>(pairs.negative_pairs);
  int64_t accepted = 0;
  int64_t cell = kCells;
  while (cell > 0) {
    accepted += pairs.negatives[static_cast<size_t>(cell - 1)];
    if (static_cast<double>(accepted) / all > far) break;
    --cell;
  }
  if (cell == kCells) return std::nullopt;
  return cell;
}

double auroc(const PairCells& pairs) {
  // Twice the number of wins, a tie one; in double, for it may pass 2^63.
  double wins = 0;
  double negatives_below = 0;
  for (size_t c = 0; c < pairs.positives.size(); ++c) {
    const auto negatives = static_cast<double>(pairs.negatives[c]);
    wins += static_cast<double>(pairs.positives[c]) *
            (2 * negatives_below + negatives);
    negatives_below += negatives;
  }
  return ratio(wins / 2, static_cast<double>(pairs.positive_pairs) *
                             static_cast<double>(pairs.negative_pairs));
}

double auprc(const PairCells& pairs) {
  double sum = 0;
  int64_t positives = 0;
  int64_t negatives = 0;
  for (size_t c = pairs.positives.size(); c-- > 0;) {
    positives += pairs.positives[c];
    negatives += pairs.negatives[c];
    if (pairs.positives[c] == 0) continue;
    sum += static_cast<double>(pairs.positives[c]) *
           static_cast<double>(positives) /
           static_cast<double>(positives + negatives);
  }
  return ratio(sum, static_cast<double>(pairs.positive_pairs));
}

PairRates pair_rates(const PairCells& pairs,
                     const std::vector<int64_t>& cells) {
  PairRates rates;
  int64_t positives = pairs.positive_pairs;
  int64_t negatives = pairs.negative_pairs;
  size_t below = 0;
  for (const int64_t cell : cells) {
    for (; below < static_cast<size_t>(cell); ++below) {
      positives -= pairs.positives[below];
      negatives -= pairs.negatives[below];
    }
    rates.far.push_back(ratio(static_cast<double>(negatives),
                              static_cast<double>(pairs.negative_pairs)));
    rates.tar.push_back(ratio(static_cast<double>(positives),
                              static_cast<double>(pairs.positive_pairs)));
    rates.precision.push_back(
        ratio(static_cast<double>(positives),
              static_cast<double>(positives + negatives)));
  }
  return rates;
}

std::vector<int64_t> curve_cells(const PairCells& pairs) {
  constexpr int64_t kParts = 32;
  constexpr int64_t kStep = kCellsPerUnit / kParts;
  const double ratio_of_levels = std::pow(10, -1.0 / 8);
  const auto holds_pairs = [&](int64_t cell) {
    const auto at = static_cast<size_t>(cell);
    return pairs.positives[at] + pairs.negatives[at] > 0;
  };
  int64_t least = 0;
  while (least < kCells - 1 && !holds_pairs(least)) ++least;
  int64_t largest = kCells - 1;
  while (largest > least && !holds_pairs(largest)) --largest;
  std::vector<int64_t> cells;
  const auto all = static_cast<double>(pairs.negative_pairs);
  int64_t accepted = pairs.negative_pairs;
  int64_t positives = pairs.positive_pairs;
  double level = 1;       // of FAR, the next that is wanted; -1: no more
  int64_t part = kParts;  // of TAR, the same
  for (int64_t cell = least; cell <= largest; ++cell) {
    const double far = static_cast<double>(accepted) / all;
    const bool has_part = positives * kParts <= pairs.positive_pairs * part;
    if (far <= level || (has_part && part > 0) || cell % kStep == 0 ||
        cell == largest) {
      cells.push_back(cell);
    }
    while (far > 0 && far <= level) level *= ratio_of_levels;
    if (far == 0) level = -1;
    while (part > 0 && positives * kParts <= pairs.positive_pairs * part) {
      --part;
    }
    accepted -= pairs.negatives[static_cast<size_t>(cell)];
    positives -= pairs.positives[static_cast<size_t>(cell)];
  }
  return cells;
}

std::vector<PairRates> drawn_pair_rates(const ScoredSet& set,
                                        const ClassGroups& groups,
                                        const std::vector<int64_t>& cells,
                                        const Tensor& draws) {
  const GroupedPairs pairs = count_grouped_pairs(set, groups, cells);
  const auto drawn_negatives = [&](const Tensor& by_groups) {
    return (torch::mm(draws, by_groups) * draws).sum(1);
  };
  const Tensor all_positives = torch::mv(draws, pairs.all_positives);
  const Tensor all_negatives = drawn_negatives(pairs.all_negatives);
  std::vector<PairRates> rates(static_cast<size_t>(draws.size(0)));
  for (int64_t t = 0; t < std::ssize(cells); ++t) {
    const Tensor positives = torch::mv(draws, pairs.positives[t]);
    const Tensor negatives = drawn_negatives(pairs.negatives[t]);
    for (size_t r = 0; r < rates.size(); ++r) {
      const auto of = [r](const Tensor& counts) {
        return counts.data_ptr<double>()[r];
      };
      rates[r].far.push_back(ratio(of(negatives), of(all_negatives)));
      rates[r].tar.push_back(ratio(of(positives), of(all_positives)));
      rates[r].precision.push_back(
          ratio(of(positives), of(positives) + of(negatives)));
    }
  }
  return rates;
}

}  // namespace kith
