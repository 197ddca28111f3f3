#include "kith/eval/class_spread.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <torch/torch.h>

#include "kith/eval/class_index.h"
#include "kith/index/row_blocks.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

/// Sums over a range of classes, double on the CPU.
struct ClassSums {
  Tensor rows;     ///< [C, D] sum of the class's rows.
  Tensor squares;  ///< [C] sum of their squared lengths.
};

/// Of classes [first, first + count). `index` [N] is the class of each item.
ClassSums class_sums(const Rows& rows, const Tensor& index, int64_t first,
                     int64_t count, int64_t block) {
  ClassSums sums{torch::zeros({count, rows.dim()}, torch::kDouble),
                 torch::zeros({count}, torch::kDouble)};
  for_each_block(rows, block, [&](int64_t start, const Tensor& part) {
    const Tensor own = index.narrow(0, start, part.size(0)) - first;
    const Tensor chosen = ((own >= 0) & (own < count)).nonzero().flatten();
    const Tensor to = own.index_select(0, chosen);
    // Of unit length in double: distances of near items have more digits than
    // the lengths of float32 rows.
    const Tensor x = normalize_rows(
        part.to(torch::kCPU).index_select(0, chosen).to(torch::kDouble));
    // On the CPU the order of additions is always the same.
    sums.rows.index_add_(0, to, x);
    sums.squares.index_add_(0, to, x.square().sum(1));
  });
  return sums;
}

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// Where all are equal there is no distance, and rounding must not make one.
double distance(double similarity) {
  constexpr double kNothing = 1e-12;
  const double d = 1 - similarity;
  return std::abs(d) < kNothing ? 0 : d;
}

/// With S the sum of n vectors, the sum of x_i x_j over all i != j is
/// |S|^2 - sum |x_i|^2: pairs need not be formed, neither of items nor of
/// classes.
ClassSpread compute_spread(const ScoredSet& set) {
  const torch::NoGradGuard no_grad;
  const ClassIndex index = index_classes(set.gallery_labels);
  const Tensor of_item = torch::tensor(index.of_item, torch::kLong);
  const Tensor all_sizes =
      torch::tensor(index.sizes, torch::kLong).to(torch::kDouble);
  // Half of the memory for sums, half for a block: float32, double, squares.
  const int64_t half = std::max<int64_t>(set.memory_mb / 2, 1);
  const int64_t dim = set.gallery.dim();
  const int64_t fits = rows_within(half, 24 * dim);
  double within = 0;  // Similarities, summed.
  int64_t classes_with_pairs = 0;
  Tensor means = torch::zeros({dim}, torch::kDouble);  // Their sum.
  double mean_squares = 0;
  for (int64_t first = 0; first < index.classes(); first += fits) {
    const int64_t count = std::min(fits, index.classes() - first);
    const ClassSums sums = class_sums(set.gallery, of_item, first, count, fits);
    const Tensor sizes = all_sizes.narrow(0, first, count);
    const Tensor similarity =
        (sums.rows.square().sum(1) - sums.squares) / (sizes * (sizes - 1));
    const Tensor several = sizes > 1;
    within += similarity.masked_select(several).sum().item<double>();
    classes_with_pairs += several.sum().item<int64_t>();
    const Tensor unit = normalize_rows(sums.rows);
    means += unit.sum(0);
    mean_squares += unit.square().sum().item<double>();
  }
  const auto classes = static_cast<double>(index.classes());
  const double between = (means.square().sum().item<double>() - mean_squares) /
                         (classes * (classes - 1));
  return {classes_with_pairs == 0
              ? kUndefined
              : distance(within / static_cast<double>(classes_with_pairs)),
          classes < 2 ? kUndefined : distance(between)};
}

}  // namespace

const ClassSpread& class_spread(const ScoredSet& set) {
  return set.cache->get<ClassSpread>([&] { return compute_spread(set); });
}

}  // namespace kith
