#include <algorithm>
#include <limits>

#include <torch/torch.h>

#include "kith/index/products.h"
#include "kith/index/search_ways.h"

namespace kith {
namespace {

constexpr float kLeftOut = -std::numeric_limits<float>::infinity();

/// The candidates of a run: more than k of each query, so that rounding does
/// not lose one.
struct TopCandidates {
  Tensor similarity;  ///< [n, c]
  Tensor index;       ///< [n, c]

  /// Keeps the best `most` of these and of a block of similarities.
  void add(const Tensor& block, int64_t item0, int64_t most) {
    auto [best, place] = block.topk(std::min(most, block.size(1)), 1);
    place = place + item0;
    if (similarity.defined()) {
      best = torch::cat({similarity, best}, 1);
      place = torch::cat({index, place}, 1);
      const auto [kept, at] = best.topk(std::min(most, best.size(1)), 1);
      best = kept;
      place = place.gather(1, at);
    }
    similarity = best;
    index = place;
  }
};

/// The item that each query must not find, [n, 1] gallery positions, gets no
/// similarity in a block of items from `item0` on.
void leave_out(const Tensor& exclude, int64_t item0, Tensor& block) {
  const Tensor column = exclude - item0;
  const Tensor inside = (column >= 0) & (column < block.size(1));
  const Tensor at = column.clamp(0, block.size(1) - 1);
  block.scatter_(1, at, block.gather(1, at).masked_fill(inside, kLeftOut));
}

/// Writes the k nearest of the candidates, by their exact similarities.
void write_nearest(const SearchRun& run, const Rows& gallery, int64_t read,
                   const TopCandidates& candidates, Neighbours& found) {
  // Sorted by position first, then stably by similarity.
  auto [index, order] = candidates.index.sort(1);
  Tensor exact = torch::empty_like(candidates.similarity);
  for (int64_t g = 0; g < gallery.count(); g += read) {
    const Tensor rows = gallery.read(g, std::min(read, gallery.count() - g));
    const Tensor here = ((index >= g) & (index < g + rows.size(0))).nonzero();
    const Tensor query = here.select(1, 0).contiguous();
    const Tensor at = here.select(1, 1).contiguous();
    const Tensor item = (index.index({query, at}) - g).contiguous();
    exact.index_put_({query, at},
                     exact_similarities(run.queries, rows, query, item));
  }
  exact.masked_fill_(candidates.similarity.gather(1, order) == kLeftOut,
                     kLeftOut);
  const auto [similarity, at] =
      exact.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  index = index.gather(1, at).masked_fill(similarity == kLeftOut, -1);
  const int64_t n = run.queries.size(0);
  const int64_t k = found.indices.size(1);
  found.similarities.narrow(0, run.first, n).copy_(similarity.slice(1, 0, k));
  found.indices.narrow(0, run.first, n).copy_(index.slice(1, 0, k));
}

}  // namespace

bool search_by_topk(const SearchRun& run, const Rows& gallery,
                    const SearchBlocks& blocks, Neighbours& found) {
  const int64_t k = found.indices.size(1);
  const int64_t most = std::min(k + k / 8 + 32, gallery.count());
  Tensor exclude;
  if (run.exclude != nullptr) {
    exclude = torch::from_blob(const_cast<int64_t*>(run.exclude),
                               {run.queries.size(0), 1}, at::kLong)
                  .to(run.queries.device());
  }
  TopCandidates candidates;
  double longest = 0;
  for (int64_t g = 0; g < gallery.count(); g += blocks.columns) {
    const Tensor rows =
        gallery.read(g, std::min(blocks.columns, gallery.count() - g));
    longest = std::max(longest, longest_row(rows, "gallery item", g));
    Tensor block = torch::mm(run.queries, rows.t());
    if (exclude.defined()) leave_out(exclude, g, block);
    candidates.add(block, g, most);
  }
  if (most < gallery.count()) {
    const Tensor slack = (run.errors * longest).to(at::kFloat);
    const Tensor open = candidates.similarity.select(1, most - 1) >=
                        candidates.similarity.select(1, k - 1) - 2 * slack;
    if (open.any().item<bool>()) return false;
  }
  write_nearest(run, gallery, blocks.read, candidates, found);
  return true;
}

}  // namespace kith
