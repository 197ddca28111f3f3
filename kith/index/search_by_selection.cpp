#include <algorithm>
#include <limits>
#include <optional>

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/index/filter_product.h"
#include "kith/index/products.h"
#include "kith/index/search_ways.h"
#include "kith/ops/gpu.h"
#include "kith/ops/select_kernels.h"

namespace kith {
namespace {

/// A tile of similarities of queries from the `first` of a run on with items
/// from position `item0` on.
struct SimilarityTile {
  Tensor similarity;  ///< [q, n]
  Tensor queries;     ///< [q, D]
  int64_t first = 0;
  Tensor items;  ///< [n, D]
  int64_t item0 = 0;
  Tensor slack;  ///< Of all queries of the run.
};

/// What a run has found so far, on its device.
struct Selected {
  Tensor exclude;   ///< [n] or undefined
  Tensor nearest;   ///< [n, k]
  Tensor position;  ///< [n, k]

  Selected(const SearchRun& run, const int64_t* excluded, int64_t k) {
    const int64_t n = run.queries.size(0);
    nearest = torch::full({n, k}, -std::numeric_limits<float>::infinity(),
                          run.queries.options());
    position = torch::full({n, k}, -1, run.queries.options().dtype(at::kLong));
    if (excluded == nullptr) return;
    exclude = torch::from_blob(const_cast<int64_t*>(excluded), {n}, at::kLong)
                  .to(run.queries.device());
  }

  void add(const SimilarityTile& tile) {
    SelectBlock block;
    block.similarity = tile.similarity.data_ptr<float>();
    block.query_stride = tile.similarity.stride(0);
    block.items = tile.items.size(0);
    block.item0 = tile.item0;
    block.dim = tile.items.size(1);
    block.queries = tile.queries.data_ptr<float>();
    block.gallery = tile.items.data_ptr<float>();
    if (exclude.defined()) {
      block.exclude = exclude.data_ptr<int64_t>() + tile.first;
    }
    block.slack = tile.slack.data_ptr<float>() + tile.first;
    block.k = nearest.size(1);
    block.nearest = nearest.data_ptr<float>() + tile.first * block.k;
    block.position = position.data_ptr<int64_t>() + tile.first * block.k;
    const int64_t n = tile.similarity.size(0);
    if (tile.queries.is_cuda()) {
      select_on_cuda(block, {0, n, current_stream()});
    } else {
      select_on_cpu(block, {0, n, nullptr});
    }
  }
};

}  // namespace

SelectionSearch::SelectionSearch(const Rows& gallery,
                                 const SearchBlocks& blocks)
    : gallery_(gallery), blocks_(blocks) {}

/// Without waiting for the device again if all rows are in memory.
double SelectionSearch::longest_of(const Tensor& rows, int64_t first) {
  const Tensor all = gallery_.in_memory();
  if (!all.defined()) return longest_row(rows, "gallery item", first);
  if (longest_ < 0) longest_ = longest_row(all, "gallery item", 0);
  return longest_;
}

void SelectionSearch::search(const SearchRun& run, Neighbours& found) {
  const c10::DeviceGuard guard(run.queries.device());
  const int64_t n = run.queries.size(0);
  const int64_t rows_at_once = std::min(n, kProductQueries);
  if (!similarity_.defined() || similarity_.size(0) < rows_at_once) {
    similarity_ =
        torch::empty({rows_at_once, blocks_.columns}, run.queries.options());
  }
  Selected selected(run, run.exclude, found.indices.size(1));
  // The nearest to the opposite of a query: of the same products.
  std::optional<Selected> opposite;
  if (found.farthest.defined()) opposite.emplace(run, nullptr, 1);
  FilterProduct product(run.queries);
  for (int64_t g = 0; g < gallery_.count(); g += blocks_.read) {
    const Tensor rows =
        gallery_.read(g, std::min(blocks_.read, gallery_.count() - g));
    product.set_items(rows, longest_of(rows, g));
    for (int64_t q = 0; q < n; q += rows_at_once) {
      const int64_t last = std::min(q + rows_at_once, n);
      const Tensor queries = run.queries.slice(0, q, last);
      const Tensor operand = product.operand(q, last);
      const Tensor other_way = opposite ? -queries : Tensor();
      for (int64_t c = 0; c < rows.size(0); c += blocks_.columns) {
        const Tensor items = rows.slice(0, c, c + blocks_.columns);
        SimilarityTile tile{
            similarity_.narrow(0, 0, last - q).narrow(1, 0, items.size(0)),
            queries,
            q,
            items,
            g + c,
            product.slack()};
        product.multiply(tile.similarity, operand, c, c + items.size(0));
        if (opposite) {
          tile.similarity.neg_();
          tile.queries = other_way;
          opposite->add(tile);
          tile.similarity.neg_();
          tile.queries = queries;
        }
        selected.add(tile);
      }
    }
  }
  found.similarities.narrow(0, run.first, n).copy_(selected.nearest);
  found.indices.narrow(0, run.first, n).copy_(selected.position);
  if (!opposite) return;
  found.farthest.narrow(0, run.first, n).copy_(-opposite->nearest.select(1, 0));
}

}  // namespace kith
