#include "kith/ops/block_plan.h"

#include <algorithm>
#include <cmath>

namespace kith {
namespace {

constexpr int64_t kEvenEdge = 128;
constexpr int64_t kMostEdge = 4096;
constexpr int64_t kMostEdgeOnGpu = 8192;
constexpr int64_t kMostItems = 2560;
constexpr int64_t kMostItemsOnGpu = 5120;

}  // namespace

int64_t most_in_block(int64_t edge, bool on_gpu) {
  if (edge > 0) return edge;
  return on_gpu ? kMostEdgeOnGpu : kMostEdge;
}

BlockPlan plan_blocks(const RowSides& sides, const BlockLimits& limits) {
  const SortedSet& set = sides.rows->set;
  const auto type_bytes = static_cast<double>(limits.type_bytes);
  // Numbers of a block with virtual examples for each without.
  const double growth = static_cast<double>(set.items) /
                        static_cast<double>(std::max<int64_t>(set.examples, 1));
  const double mixed = set.mixed() ? growth * growth : 0;
  // On the CPU a block off the diagonal is turned for its columns.
  const double turned = limits.on_gpu || sides.columns ? 0 : growth * growth;
  auto edge = static_cast<int64_t>(
      std::sqrt(limits.budget / type_bytes / (1 + mixed + turned)));
  // BLAS libraries like even sizes.
  if (edge > kEvenEdge) edge = edge / kEvenEdge * kEvenEdge;
  // Larger blocks only leave the caches. With virtual examples it is the mixed
  // block that counts.
  int64_t most = most_in_block(limits.edge, limits.on_gpu);
  if (set.mixed() && limits.edge == 0) {
    const double items = limits.on_gpu ? kMostItemsOnGpu : kMostItems;
    most = static_cast<int64_t>(items / growth);
  }
  edge = std::clamp<int64_t>(edge, 1, std::max<int64_t>(most, 1));
  BlockPlan plan;
  int64_t examples = 0;
  for (int64_t n = limits.lanes.first; n < limits.lanes.last; ++n) {
    const Stretch lane = cut_lane(set, n, limits.lanes.count);
    for (const Stretch& stretch : cut(set, lane, edge)) {
      plan.rows.push_back(stretch);
    }
    examples += lane.end - lane.begin;
  }
  plan.columns = cut(sides.column_side().set, edge);
  const auto rows = static_cast<double>(examples);
  const auto columns = static_cast<double>(sides.column_side().set.examples);
  const double block = std::min<double>(rows, static_cast<double>(edge));
  const double beside =
      block * block * (mixed + (plan.columns.size() > 1 ? turned : 0));
  plan.keep =
      limits.twice && (rows * columns + beside) * type_bytes <= limits.budget;
  return plan;
}

}  // namespace kith
