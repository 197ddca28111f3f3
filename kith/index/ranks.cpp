#include "kith/index/ranks.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/core/side_by_side.h"
#include "kith/index/filter_product.h"
#include "kith/index/pair_similarities.h"
#include "kith/index/products.h"
#include "kith/index/tell_others.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Queries and items of a tile of similarities: enough for the product to run
/// at full speed, and little enough for a thread's share of the caches, or for
/// those of a GPU, where a tile is counted before it leaves them.
constexpr int64_t kTileQueries = 1024;
constexpr int64_t kTileItems = 4096;
constexpr int64_t kGpuTileItems = 8192;
/// Side of a block where every item is a query too.
constexpr int64_t kSquare = 1024;
/// Wanted items of a query up to which a block is also read by columns: beyond,
/// placing an item among them costs more than the product that is saved.
constexpr int64_t kMostBothWays = 1024;

/// What a run of queries wants: see RankBlock for the order.
struct Wanted {
  Tensor offsets;              ///< [queries + 1]
  Tensor threshold;            ///< [pairs]
  Tensor item;                 ///< [pairs]
  Tensor count;                ///< [pairs]
  std::vector<int64_t> place;  ///< Of each sorted pair, in the given order.
};

/// How a memory budget is spent.
struct Plan {
  int64_t run_queries = 0;  ///< Queries that are in memory together,
  int64_t block_items = 0;  ///< and items, unless all are.
  int64_t tile_items = 0;   ///< Of these, in a tile of similarities.
  bool both_ways = false;   ///< Every item is a query: see count_both_ways.
};

/// Sorts each query's pairs, the farthest item first.
Wanted sorted_pairs(const int64_t* offsets, int64_t queries,
                    const int64_t* items, const Tensor& similarity) {
  const int64_t base = offsets[0];
  const int64_t count = offsets[queries] - base;
  const float* s = similarity.data_ptr<float>();
  Wanted wanted;
  wanted.place.resize(static_cast<size_t>(count));
  std::iota(wanted.place.begin(), wanted.place.end(), 0);
  at::parallel_for(0, queries, 16, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      std::sort(wanted.place.begin() + (offsets[q] - base),
                wanted.place.begin() + (offsets[q + 1] - base),
                [&](int64_t a, int64_t b) {
                  return s[a] < s[b] || (s[a] == s[b] && items[a] > items[b]);
                });
    }
  });
  wanted.offsets = torch::empty({queries + 1}, at::kLong);
  auto* offset = wanted.offsets.data_ptr<int64_t>();
  for (int64_t q = 0; q <= queries; ++q) offset[q] = offsets[q] - base;
  wanted.threshold = torch::empty({count}, at::kFloat);
  wanted.item = torch::empty({count}, at::kLong);
  auto* threshold = wanted.threshold.data_ptr<float>();
  auto* item = wanted.item.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = wanted.place[static_cast<size_t>(i)];
    threshold[i] = s[from];
    item[i] = items[from];
  }
  wanted.count = torch::zeros({count}, at::kLong);
  return wanted;
}

/// Counts blocks of similarities for a run of queries in memory.
class Counter {
 public:
  Counter(const Tensor& queries, Wanted wanted, const Tensor& exclude)
      : queries_(queries),
        wanted_(std::move(wanted)),
        device_(queries.device()) {
    for (Tensor* t : {&wanted_.offsets, &wanted_.threshold, &wanted_.item,
                      &wanted_.count}) {
      *t = t->to(device_);
    }
    if (exclude.defined()) exclude_ = exclude.to(device_).contiguous();
  }

  const Tensor& queries() const { return queries_; }

  /// Adds the items [item0, item0 + rows of gallery) for queries [first, last).
  /// `slack` is that of all queries. Different queries may be added by
  /// different threads.
  void add(const Tensor& similarity, bool by_columns, int64_t first,
           int64_t last, const Tensor& gallery, const Tensor& slack,
           int64_t item0) {
    RankBlock block;
    block.similarity = similarity.data_ptr<float>();
    block.query_stride = by_columns ? 1 : similarity.stride(0);
    block.item_stride = by_columns ? similarity.stride(0) : 1;
    block.items = gallery.size(0);
    block.item0 = item0;
    block.queries = queries_.data_ptr<float>() + first * queries_.size(1);
    block.gallery = gallery.data_ptr<float>();
    block.dim = queries_.size(1);
    block.exclude =
        exclude_.defined() ? exclude_.data_ptr<int64_t>() + first : nullptr;
    block.slack = slack.data_ptr<float>() + first;
    block.offsets = wanted_.offsets.data_ptr<int64_t>() + first;
    block.threshold = wanted_.threshold.data_ptr<float>();
    block.wanted = wanted_.item.data_ptr<int64_t>();
    block.count = wanted_.count.data_ptr<int64_t>();
    const c10::DeviceGuard guard(device_);
    void* stream = device_.is_cuda() ? current_stream() : nullptr;
    rank_kernels(device_).count(block, {0, last - first, stream});
  }

  /// Adds what the others have counted in their parts.
  void add_others(Communicator& ranks) {
    wanted_.count = ranks.all_reduce(wanted_.count);
  }

  /// Ranks from the counts, in the order the pairs were given.
  void write_ranks(int64_t* ranks) const {
    const Tensor counts = wanted_.count.cpu();
    const Tensor offsets = wanted_.offsets.cpu();
    const int64_t* count = counts.data_ptr<int64_t>();
    const int64_t* offset = offsets.data_ptr<int64_t>();
    for (int64_t q = 0; q + 1 < offsets.size(0); ++q) {
      int64_t nearer = 0;
      for (int64_t i = offset[q + 1]; i > offset[q]; --i) {
        nearer += count[i - 1];
        ranks[wanted_.place[static_cast<size_t>(i - 1)]] = nearer + 1;
      }
    }
  }

 private:
  Tensor queries_;
  Wanted wanted_;
  Tensor exclude_;
  c10::Device device_;
};

/// Every query with every item of a part, a block after the other. On the CPU,
/// threads take queries in turns, and each multiplies and counts by itself:
/// threads that share a product wait for each other.
void count_all(Counter& counter, const GalleryPart& part, const Plan& plan) {
  const Tensor& queries = counter.queries();
  const bool on_gpu = queries.device().is_cuda();
  const int64_t turns = int64_t{4} * at::get_num_threads();
  const int64_t rows =
      on_gpu ? kTileQueries
             : std::clamp<int64_t>(queries.size(0) / turns, 64, kTileQueries);
  FilterProduct product(queries);
  for (int64_t g = part.first; g < part.last(); g += plan.block_items) {
    const Tensor items = part.items.read(
        g - part.first, std::min(plan.block_items, part.last() - g));
    product.set_items(items, longest_row(items, "gallery item", g));
    // A multiple of 4: a GPU reads four similarities at once.
    const int64_t columns =
        std::min(plan.tile_items, (items.size(0) + 3) / 4 * 4);
    const auto count = [&](int64_t block) {
      const int64_t q = block * rows;
      const int64_t last = std::min(q + rows, queries.size(0));
      const Tensor operand = product.operand(q, last);
      const Tensor buffer =
          torch::empty({last - q, columns}, queries.options());
      for (int64_t c = 0; c < items.size(0); c += columns) {
        const Tensor some = items.slice(0, c, c + columns);
        Tensor tile = buffer.narrow(1, 0, some.size(0));
        product.multiply(tile, operand, c, c + some.size(0));
        counter.add(tile, /*by_columns=*/false, q, last, some, product.slack(),
                    g + c);
      }
    };
    const int64_t blocks = (queries.size(0) + rows - 1) / rows;
    if (on_gpu) {
      for (int64_t block = 0; block < blocks; ++block) count(block);
    } else {
      run_side_by_side(blocks, count);
    }
  }
}

/// Every item with every other, each pair's product taken once: a square block
/// is read by rows and by columns. Ranks take blocks in turns.
void count_both_ways(Counter& counter, Communicator& ranks) {
  const Tensor& rows = counter.queries();
  const int64_t count = rows.size(0);
  const Tensor slack = (product_errors(rows) * longest_row(rows, "item", 0))
                           .to(at::kFloat)
                           .contiguous();
  const int64_t side = (count + kSquare - 1) / kSquare;
  std::vector<std::pair<int64_t, int64_t>> blocks;
  int64_t turn = 0;
  for (int64_t i = 0; i < side; ++i) {
    for (int64_t j = i; j < side; ++j) {
      if (turn++ % ranks.size() == ranks.rank()) blocks.emplace_back(i, j);
    }
  }
  // Whoever counts for a run of queries is alone with them.
  std::vector<std::mutex> busy(static_cast<size_t>(side));
  run_side_by_side(static_cast<int64_t>(blocks.size()), [&](int64_t block) {
    const auto [bi, bj] = blocks[static_cast<size_t>(block)];
    const int64_t i = bi * kSquare;
    const int64_t j = bj * kSquare;
    const int64_t i_last = std::min(i + kSquare, count);
    const int64_t j_last = std::min(j + kSquare, count);
    const Tensor x = rows.slice(0, i, i_last);
    const Tensor y = rows.slice(0, j, j_last);
    const Tensor product = torch::mm(x, y.t());
    {
      const std::lock_guard lock(busy[static_cast<size_t>(bi)]);
      counter.add(product, /*by_columns=*/false, i, i_last, y, slack, j);
    }
    if (bi == bj) return;
    const std::lock_guard lock(busy[static_cast<size_t>(bj)]);
    counter.add(product, /*by_columns=*/true, j, j_last, x, slack, i);
  });
}

int64_t most_wanted(const RankedPairs& pairs) {
  int64_t most = 0;
  for (size_t i = 1; i < pairs.offsets.size(); ++i) {
    most = std::max(most, pairs.offsets[i] - pairs.offsets[i - 1]);
  }
  return most;
}

Plan make_plan(const Rows& queries, const Rows& gallery,
               const RankedPairs& pairs, int64_t memory_mb) {
  const int64_t bytes = std::max<int64_t>(memory_mb, 1) << 20;
  const int64_t row_bytes = 4 * gallery.dim();
  const bool in_memory = queries.in_memory().defined();
  const bool on_gpu = queries.device().is_cuda();
  Plan plan;
  plan.run_queries = in_memory
                         ? std::max<int64_t>(pairs.queries(), 1)
                         : std::max<int64_t>(bytes / 4 / (3 * row_bytes), 64);
  plan.tile_items =
      on_gpu ? std::clamp<int64_t>(bytes / 4 / (4 * kTileQueries) / 4 * 4, 256,
                                   kGpuTileItems)
             : kTileItems;
  // Of a gallery in a file: its rows as read, as float32 and scaled, and split;
  // and their similarities with a block of queries, which on a GPU are a tile.
  const bool is_split =
      split_is_faster(queries.device(), pairs.queries(), queries.dim());
  const bool is_read = !gallery.in_memory().defined();
  const int64_t fit =
      bytes / 2 /
      ((is_read || !is_split ? 4 * row_bytes : 0) +
       (is_split ? 2 * split_width(queries.dim()) : 4 * kTileQueries));
  plan.block_items = std::min(std::max<int64_t>(fit, 1024), gallery.count());
  plan.both_ways = queries.same_as(gallery) && in_memory && !on_gpu &&
                   pairs.first == 0 && pairs.queries() == queries.count() &&
                   most_wanted(pairs) <= kMostBothWays;
  return plan;
}

void compute_similarities(const PairRun& run, const GalleryPart& part,
                          const RankedPairs& pairs, const Plan& plan,
                          float* to) {
  const bool in_memory = part.items.in_memory().defined();
  write_similarities(run, part, pairs.items.data() + run.first(),
                     in_memory ? part.items.count() : plan.block_items, to);
}

/// The similarities of a run's pairs, as they are given or as they are.
Tensor run_similarities(const PairRun& run, const GalleryPart& part,
                        const RankedPairs& pairs, const Plan& plan) {
  if (!pairs.similarities.empty()) {
    return torch::from_blob(
        const_cast<float*>(pairs.similarities.data()) + run.first(),
        {run.count()}, at::kFloat);
  }
  Tensor found = torch::empty({run.count()}, at::kFloat);
  compute_similarities(run, part, pairs, plan, found.data_ptr<float>());
  return found;
}

/// The ranks of a run's pairs; the first query is the `first` of all.
void rank_run(const PairRun& run, int64_t first, const Rows& gallery,
              const RankedPairs& pairs, const Tensor& excluded,
              const Plan& plan, int64_t* ranks) {
  const int64_t n = run.queries.size(0);
  const GalleryPart part(gallery);
  Counter counter(
      run.queries,
      sorted_pairs(run.offsets, n, pairs.items.data() + run.first(),
                   run_similarities(run, part, pairs, plan)),
      excluded.defined() ? excluded.slice(0, first, first + n) : excluded);
  if (plan.both_ways) {
    count_both_ways(counter, or_alone(part.ranks));
  } else {
    count_all(counter, part, plan);
  }
  if (part.ranks != nullptr) counter.add_others(*part.ranks);
  counter.write_ranks(ranks + run.first());
}

/// Calls visit(run, first) for queries that have pairs, as many at a time as
/// the plan says.
template <class Visit>
void for_each_run(const Rows& queries, const Rows& gallery,
                  const RankedPairs& pairs, const Plan& plan,
                  const Visit& visit) {
  TORCH_CHECK_VALUE(queries.dim() == gallery.dim(), "queries have ",
                    queries.dim(), " dimensions, the gallery ", gallery.dim());
  const torch::NoGradGuard no_grad;
  const ProductPrecision exact(/*tf32=*/false);
  telling(or_alone(GalleryPart(gallery).ranks), [&] {
    for (int64_t q = 0; q < pairs.queries(); q += plan.run_queries) {
      const int64_t n = std::min(plan.run_queries, pairs.queries() - q);
      const int64_t* offsets = pairs.offsets.data() + q;
      if (offsets[n] == offsets[0]) continue;
      const int64_t first = pairs.first + q;
      const PairRun run{queries.read(first, n), offsets};
      longest_row(run.queries, "query", first);
      visit(run, first);
    }
  });
}

}  // namespace

std::vector<int64_t> exact_ranks(const Rows& queries, const Rows& gallery,
                                 const RankedPairs& pairs,
                                 const Tensor& excluded,
                                 const RankOptions& options) {
  const Tensor exclude = row_positions(excluded, queries.count(),
                                       gallery.count(), "items to exclude");
  KITH_ASSERT(pairs.similarities.empty() ||
              pairs.similarities.size() == pairs.items.size());
  const Plan plan = make_plan(queries, gallery, pairs, options.memory_mb);
  std::vector<int64_t> ranks(pairs.items.size());
  for_each_run(
      queries, gallery, pairs, plan, [&](const PairRun& run, int64_t first) {
        rank_run(run, first, gallery, pairs, exclude, plan, ranks.data());
      });
  return ranks;
}

void pair_similarities(const Rows& queries, const Rows& gallery,
                       const RankedPairs& pairs, std::vector<float>& to,
                       const RankOptions& options) {
  const Plan plan = make_plan(queries, gallery, pairs, options.memory_mb);
  to.resize(pairs.items.size());
  for_each_run(queries, gallery, pairs, plan, [&](const PairRun& run, int64_t) {
    compute_similarities(run, GalleryPart(gallery), pairs, plan,
                         to.data() + run.first());
  });
}

}  // namespace kith
