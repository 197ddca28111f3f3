#include "kith/index/search_shards.h"

#include <algorithm>
#include <limits>

#include <torch/torch.h>

#include "kith/index/products.h"
#include "kith/index/shared_rows.h"
#include "kith/index/tell_others.h"

namespace kith {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Positions in the gallery as those in a shard of it; -1 for all others.
Tensor in_shard(const Tensor& positions, const RowShard& shard) {
  if (!positions.defined()) return positions;
  const Tensor own = positions - shard.first;
  return own.masked_fill((own < 0) | (own >= shard.mine.count()), -1);
}

/// The nearest of this rank's items, by their places in the gallery, [Q, k]:
/// filled up if it has fewer.
Neighbours nearest_of_shard(const Tensor& queries, const RowShard& shard,
                            const Tensor& excluded,
                            const SearchOptions& options, int64_t k) {
  Neighbours all{torch::full({queries.size(0), k}, -1, torch::kLong),
                 torch::full({queries.size(0), k}, kNone, torch::kFloat)};
  if (shard.mine.count() == 0) return all;
  const Neighbours found =
      exact_search(queries, shard.mine, in_shard(excluded, shard), options);
  const int64_t own = found.indices.size(1);
  all.similarities.narrow(1, 0, own).copy_(found.similarities);
  all.indices.narrow(1, 0, own).copy_(torch::where(
      found.indices < 0, found.indices, found.indices + shard.first));
  return all;
}

/// [Q, k] of each rank side by side: [Q, R k].
Tensor side_by_side(const Tensor& mine, Communicator& ranks) {
  const int64_t queries = mine.size(0);
  const int64_t k = mine.size(1);
  return ranks.all_gather(mine)
      .view({ranks.size(), queries, k})
      .transpose(0, 1)
      .reshape({queries, ranks.size() * k});
}

/// The k nearest of those of all ranks. These follow each other by position in
/// the gallery, and a stable sort leaves equal ones in this order.
Neighbours merged(const Neighbours& mine, Communicator& ranks) {
  const int64_t k = mine.indices.size(1);
  const Tensor similarities = side_by_side(mine.similarities, ranks);
  const Tensor indices = side_by_side(mine.indices, ranks);
  const auto [sorted, order] = similarities.sort(
      /*stable=*/true, /*dim=*/1, /*descending=*/true);
  return {indices.gather(1, order.slice(1, 0, k)), sorted.slice(1, 0, k)};
}

}  // namespace

Neighbours search_shards(const Rows& queries, const Rows& gallery,
                         const Tensor& excluded, const SearchOptions& options) {
  const RowShard& shard = *gallery.shard();
  Communicator& ranks = *shard.ranks;
  return telling(ranks, [&] {
    TORCH_CHECK_VALUE(options.k > 0, "k must be positive, got ", options.k);
    const Tensor exclude = row_positions(excluded, queries.count(),
                                         gallery.count(), "items to exclude");
    const int64_t k = std::min(options.k, gallery.count());
    Neighbours found{torch::full({queries.count(), k}, -1, torch::kLong),
                     torch::full({queries.count(), k}, kNone, torch::kFloat)};
    // Otherwise a row that cannot be compared would be named by its place here.
    const Tensor own = shard.mine.in_memory();
    if (own.defined()) longest_row(own, "gallery item", shard.first);
    // What the ranks have found, with room to sort it, and the queries.
    const int64_t bytes = std::max<int64_t>(options.memory_mb, 1) << 20;
    const int64_t row_bytes = 4 * queries.dim() + 36 * k * ranks.size();
    const int64_t rows = std::max<int64_t>(bytes / 2 / row_bytes, 64);
    for (int64_t q = 0; q < queries.count(); q += rows) {
      const int64_t n = std::min(rows, queries.count() - q);
      const Neighbours part =
          merged(nearest_of_shard(
                     queries.read(q, n), shard,
                     exclude.defined() ? exclude.narrow(0, q, n) : exclude,
                     options, k),
                 ranks);
      found.indices.narrow(0, q, n).copy_(part.indices);
      found.similarities.narrow(0, q, n).copy_(part.similarities);
    }
    return found;
  });
}

}  // namespace kith
