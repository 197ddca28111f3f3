#include "kith/index/flat.h"

#include <algorithm>
#include <limits>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/index/filter_product.h"
#include "kith/index/products.h"
#include "kith/index/row_blocks.h"
#include "kith/index/search_shards.h"
#include "kith/index/search_ways.h"
#include "kith/ops/gpu.h"
#include "kith/ops/select_kernels.h"

namespace kith {
namespace {

/// Similarities of a block on a GPU, which are read before they leave its
/// caches,
constexpr int64_t kCached = int64_t{1} << 23;
/// and the least columns of a block for each neighbour that is looked for: the
/// first block's nearest are computed exactly, and most of them given up later.
constexpr int64_t kColumnsEach = 256;

/// How a memory budget is spent: half for similarities.
SearchBlocks plan_blocks(SearchWay way, const Rows& queries,
                         const Rows& gallery, int64_t k, int64_t memory_mb) {
  const int64_t bytes = std::max<int64_t>(memory_mb, 1) << 20;
  const int64_t row_bytes = 4 * gallery.dim();
  const bool on_cpu = way == SearchWay::kCandidates;
  SearchBlocks blocks;
  // On the CPU each thread has a block.
  const int64_t at_once = on_cpu ? at::get_num_threads() : 1;
  int64_t most = 4096;
  if (!on_cpu) {
    const int64_t rows =
        std::clamp<int64_t>(queries.count(), 1, kProductQueries);
    most =
        std::min<int64_t>(std::max(kCached / rows, kColumnsEach * k), 1 << 16);
  }
  blocks.columns = std::max<int64_t>(
      std::min(bytes / 2 / (4 * kProductQueries) / at_once, most) / 4 * 4, 256);
  // A quarter for rows: three times, if they are read from a file, and split.
  const bool is_split =
      way == SearchWay::kSelection &&
      split_is_faster(queries.device(), queries.count(), queries.dim());
  const int64_t row_room = (gallery.in_memory().defined() ? 0 : 3 * row_bytes) +
                           (is_split ? 2 * split_width(gallery.dim()) : 0);
  blocks.read = row_room == 0 ? gallery.count()
                              : std::max<int64_t>(bytes / 4 / row_room, 256);
  // A multiple of 4 still.
  blocks.columns = std::min(
      blocks.columns, (std::min(blocks.read, gallery.count()) + 3) / 4 * 4);
  // As many queries together as fit, so that a gallery in a file is read as
  // rarely as possible.
  if (way == SearchWay::kCandidates) {
    const int64_t kept = 16 * (3 * k + 16) + row_bytes;
    blocks.queries = std::max<int64_t>(bytes / 4 / kept, kProductQueries / 4);
  } else if (way == SearchWay::kSelection) {
    const int64_t kept =
        12 * k + 24 + (queries.in_memory().defined() ? 0 : row_bytes);
    blocks.queries = std::max<int64_t>(bytes / 4 / kept, kProductQueries);
  } else {
    blocks.queries = kProductQueries;
  }
  return blocks;
}

/// What is nearest to -x is farthest from x.
Tensor farthest_of(const Rows& queries, const Rows& gallery,
                   int64_t memory_mb) {
  Tensor farthest = torch::empty({queries.count()}, torch::kFloat);
  for_each_block(queries, rows_within(memory_mb, 16 * queries.dim()),
                 [&](int64_t first, const Tensor& block) {
                   const Tensor opposite =
                       exact_search(-block, gallery, {}, {1, memory_mb})
                           .similarities.select(1, 0);
                   farthest.narrow(0, first, block.size(0)).copy_(-opposite);
                 });
  return farthest;
}

}  // namespace

Neighbours search_in_way(SearchWay way, const Rows& queries,
                         const Rows& gallery, const Tensor& excluded,
                         const SearchOptions& options) {
  TORCH_CHECK_VALUE(queries.dim() == gallery.dim(),
                    "queries and gallery must be [Q, D] and [N, D], got D = ",
                    queries.dim(), " and ", gallery.dim());
  TORCH_CHECK_VALUE(options.k > 0, "k must be positive, got ", options.k);
  const Tensor exclude = row_positions(excluded, queries.count(),
                                       gallery.count(), "items to exclude");
  const torch::NoGradGuard no_grad;
  const ProductPrecision float32(/*tf32=*/false);
  const int64_t k = std::min(options.k, gallery.count());
  Neighbours found{
      torch::full({queries.count(), k}, -1, torch::kLong),
      torch::full({queries.count(), k}, -std::numeric_limits<float>::infinity(),
                  torch::kFloat)};
  if (options.farthest && way != SearchWay::kTopk) {
    found.farthest = torch::empty({queries.count()}, torch::kFloat);
  }
  const SearchBlocks blocks =
      plan_blocks(way, queries, gallery, k, options.memory_mb);
  SelectionSearch selection(gallery, blocks);
  for (int64_t q = 0; q < queries.count(); q += blocks.queries) {
    SearchRun run;
    run.first = q;
    run.queries =
        queries.read(q, std::min(blocks.queries, queries.count() - q));
    run.exclude = exclude.defined() ? exclude.data_ptr<int64_t>() + q : nullptr;
    longest_row(run.queries, "query", q);
    if (way == SearchWay::kSelection) {
      selection.search(run, found);
      continue;
    }
    run.errors = product_errors(run.queries);
    if (way == SearchWay::kTopk &&
        search_by_topk(run, gallery, blocks, found)) {
      continue;
    }
    run.queries = run.queries.cpu();
    run.errors = run.errors.cpu();
    search_on_cpu(run, gallery.on(at::kCPU), blocks, found);
  }
  return found;
}

Neighbours exact_search(const Rows& queries, const Rows& gallery,
                        const Tensor& excluded, const SearchOptions& options) {
  Neighbours found;
  if (gallery.shard() != nullptr) {
    found = search_shards(queries, gallery, excluded, options);
  } else {
    SearchWay way = SearchWay::kCandidates;
    if (queries.device().is_cuda()) {
      way = std::min(options.k, gallery.count()) <= kMostSelected
                ? SearchWay::kSelection
                : SearchWay::kTopk;
    }
    found = search_in_way(way, queries, gallery, excluded, options);
  }
  if (options.farthest && !found.farthest.defined()) {
    found.farthest = farthest_of(queries, gallery, options.memory_mb);
  }
  return found;
}

}  // namespace kith
