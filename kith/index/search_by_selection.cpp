#include <algorithm>
#include <limits>

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/index/filter_product.h"
#include "kith/index/products.h"
#include "kith/index/search_ways.h"
#include "kith/ops/gpu.h"
#include "kith/ops/select_kernels.h"

namespace kith {
namespace {

/// A run and what it has found so far, on the run's device.
struct Selected {
  Tensor queries;   ///< [n, D]
  Tensor exclude;   ///< [n] or undefined
  Tensor nearest;   ///< [n, k]
  Tensor position;  ///< [n, k]

  Selected(const SearchRun& run, int64_t k) : queries(run.queries) {
    const int64_t n = queries.size(0);
    nearest = torch::full({n, k}, -std::numeric_limits<float>::infinity(),
                          queries.options());
    position = torch::full({n, k}, -1, queries.options().dtype(at::kLong));
    if (run.exclude == nullptr) return;
    exclude =
        torch::from_blob(const_cast<int64_t*>(run.exclude), {n}, at::kLong)
            .to(queries.device());
  }

  /// Takes in the similarities of queries [first, first + rows of similarity)
  /// with `items`, those from position `item0` on.
  void add(const Tensor& similarity, int64_t first, const Tensor& items,
           int64_t item0, const Tensor& slack) {
    SelectBlock block;
    block.similarity = similarity.data_ptr<float>();
    block.query_stride = similarity.stride(0);
    block.items = items.size(0);
    block.item0 = item0;
    block.dim = items.size(1);
    block.queries = queries.data_ptr<float>() + first * block.dim;
    block.gallery = items.data_ptr<float>();
    if (exclude.defined()) block.exclude = exclude.data_ptr<int64_t>() + first;
    block.slack = slack.data_ptr<float>() + first;
    block.k = nearest.size(1);
    block.nearest = nearest.data_ptr<float>() + first * block.k;
    block.position = position.data_ptr<int64_t>() + first * block.k;
    if (queries.is_cuda()) {
      select_on_cuda(block, {0, similarity.size(0), current_stream()});
    } else {
      select_on_cpu(block, {0, similarity.size(0), nullptr});
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
  Selected selected(run, found.indices.size(1));
  FilterProduct product(run.queries);
  for (int64_t g = 0; g < gallery_.count(); g += blocks_.read) {
    const Tensor rows =
        gallery_.read(g, std::min(blocks_.read, gallery_.count() - g));
    product.set_items(rows, longest_of(rows, g));
    for (int64_t q = 0; q < n; q += rows_at_once) {
      const int64_t last = std::min(q + rows_at_once, n);
      const Tensor operand = product.operand(q, last);
      for (int64_t c = 0; c < rows.size(0); c += blocks_.columns) {
        const Tensor items = rows.slice(0, c, c + blocks_.columns);
        Tensor similarity =
            similarity_.narrow(0, 0, last - q).narrow(1, 0, items.size(0));
        product.multiply(similarity, operand, c, c + items.size(0));
        selected.add(similarity, q, items, g + c, product.slack());
      }
    }
  }
  found.similarities.narrow(0, run.first, n).copy_(selected.nearest);
  found.indices.narrow(0, run.first, n).copy_(selected.position);
}

}  // namespace kith
