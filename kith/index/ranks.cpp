#include "kith/index/ranks.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/core/side_by_side.h"
#include "kith/index/products.h"
#include "kith/index/shared_rows.h"
#include "kith/index/tell_others.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Queries and items of a tile of similarities: enough for the product to run
/// at full speed, and little enough for a thread's share of the caches.
constexpr int64_t kTileQueries = 1024;
constexpr int64_t kTileItems = 4096;
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

/// The part of a gallery whose items this process compares, and with whom it
/// shares the rest.
struct Part {
  Rows items;
  int64_t first = 0;
  Communicator* ranks = nullptr;  ///< Null: these are all.

  explicit Part(const Rows& gallery) : items(gallery) {
    const RowShard* shard = gallery.shard();
    if (shard == nullptr) return;
    items = shard->mine;
    first = shard->first;
    ranks = shard->ranks;
  }
  int64_t last() const { return first + items.count(); }
};

/// Exact similarities of the wanted pairs whose item is in a part of the
/// gallery, which is read by blocks; `items` are sorted.
Tensor similarities_of_part(const Tensor& queries, const Part& part,
                            const Tensor& query_of, const Tensor& items,
                            int64_t block_rows) {
  const c10::Device device = queries.device();
  Tensor result = torch::empty({items.size(0)}, at::kFloat);
  const int64_t* first = items.data_ptr<int64_t>();
  const int64_t* last = first + items.size(0);
  const int64_t* begin = first;
  while (begin != last) {
    // The next block that holds a wanted item.
    const int64_t row0 = *begin - part.first;
    const int64_t rows = std::min(block_rows, part.items.count() - row0);
    const int64_t* end =
        std::lower_bound(begin, last, part.first + row0 + rows);
    const Tensor block = part.items.read(row0, rows);
    const Tensor x_row =
        query_of.slice(0, begin - first, end - first).to(device);
    const Tensor y_row =
        (items.slice(0, begin - first, end - first) - (part.first + row0))
            .to(device);
    result.slice(0, begin - first, end - first)
        .copy_(exact_similarities(queries, block, x_row, y_row));
    begin = end;
  }
  return result;
}

/// Exact similarities of pairs: whoever has the item computes its own.
Tensor pair_similarities(const Tensor& queries, const Part& part,
                         const Tensor& query_of, const Tensor& items,
                         int64_t block_rows) {
  const auto [sorted, order] = items.sort();
  const int64_t* data = sorted.data_ptr<int64_t>();
  const int64_t* end = data + sorted.size(0);
  const int64_t from = std::lower_bound(data, end, part.first) - data;
  const int64_t to = std::lower_bound(data, end, part.last()) - data;
  Tensor found = similarities_of_part(
      queries, part, query_of.index_select(0, order.slice(0, from, to)),
      sorted.slice(0, from, to), block_rows);
  // The parts of the ranks follow each other, and so do their pairs.
  if (part.ranks != nullptr) found = part.ranks->all_gather(found);
  return torch::empty_like(found).index_copy_(0, order, found);
}

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
  for (int64_t q = 0; q <= queries; ++q) {
    wanted.offsets.data_ptr<int64_t>()[q] = offsets[q] - base;
  }
  wanted.threshold = torch::empty({count}, at::kFloat);
  wanted.item = torch::empty({count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = wanted.place[static_cast<size_t>(i)];
    wanted.threshold.data_ptr<float>()[i] = s[from];
    wanted.item.data_ptr<int64_t>()[i] = items[from];
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
    error_ = product_errors(queries);
  }

  const Tensor& queries() const { return queries_; }

  /// Adds the items [item0, item0 + rows of gallery) for queries [first, last).
  /// Different queries may be added by different threads.
  void add(const Tensor& similarity, bool by_columns, int64_t first,
           int64_t last, const Tensor& gallery, double longest, int64_t item0) {
    const Tensor slack =
        (error_.slice(0, first, last) * longest).to(at::kFloat).contiguous();
    RankBlock block;
    block.similarity = similarity.data_ptr<float>();
    block.query_stride = by_columns ? 1 : similarity.size(1);
    block.item_stride = by_columns ? similarity.size(1) : 1;
    block.items = gallery.size(0);
    block.item0 = item0;
    block.queries = queries_.data_ptr<float>() + first * queries_.size(1);
    block.gallery = gallery.data_ptr<float>();
    block.dim = queries_.size(1);
    block.exclude =
        exclude_.defined() ? exclude_.data_ptr<int64_t>() + first : nullptr;
    block.slack = slack.data_ptr<float>();
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
  Tensor error_;  ///< [queries] by which a product with a unit row can be off.
  c10::Device device_;
};

/// Multiplies a tile of similarities, into memory that is used again.
class Product {
 public:
  const Tensor& operator()(const Tensor& x, const Tensor& y) {
    if (!buffer_.defined() || buffer_.size(0) != x.size(0) ||
        buffer_.size(1) != y.size(0)) {
      buffer_ = torch::empty({x.size(0), y.size(0)}, x.options());
    }
    return torch::mm_out(buffer_, x, y.t());
  }

 private:
  Tensor buffer_;
};

/// Every query with every item of a part, a block after the other. On the CPU,
/// threads take queries in turns, and each multiplies and counts by itself:
/// threads that share a product wait for each other.
void count_all(Counter& counter, const Part& part, int64_t block_items) {
  const Tensor& queries = counter.queries();
  const bool on_gpu = queries.device().is_cuda();
  const int64_t turns = int64_t{4} * at::get_num_threads();
  const int64_t rows =
      on_gpu ? kTileQueries
             : std::clamp<int64_t>(queries.size(0) / turns, 64, kTileQueries);
  for (int64_t g = part.first; g < part.last(); g += block_items) {
    const Tensor items =
        part.items.read(g - part.first, std::min(block_items, part.last() - g));
    const double longest = longest_row(items, "gallery item", g);
    const int64_t tile = on_gpu ? items.size(0) : kTileItems;
    const auto count = [&](int64_t block) {
      const int64_t q = block * rows;
      const int64_t last = std::min(q + rows, queries.size(0));
      Product product;
      for (int64_t c = 0; c < items.size(0); c += tile) {
        const Tensor some =
            items.slice(0, c, std::min(c + tile, items.size(0)));
        counter.add(product(queries.slice(0, q, last), some),
                    /*by_columns=*/false, q, last, some, longest, g + c);
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
  const double longest = longest_row(rows, "item", 0);
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
      counter.add(product, /*by_columns=*/false, i, i_last, y, longest, j);
    }
    if (bi == bj) return;
    const std::lock_guard lock(busy[static_cast<size_t>(bj)]);
    counter.add(product, /*by_columns=*/true, j, j_last, x, longest, i);
  });
}

int64_t most_wanted(const RankedPairs& pairs) {
  int64_t most = 0;
  for (size_t i = 1; i < pairs.offsets.size(); ++i) {
    most = std::max(most, pairs.offsets[i] - pairs.offsets[i - 1]);
  }
  return most;
}

/// How a memory budget is spent.
struct Plan {
  int64_t run_queries = 0;  ///< Queries that are in memory together,
  int64_t block_items = 0;  ///< and items, unless all are.
  bool both_ways = false;   ///< Every item is a query: see count_both_ways.
};

Plan make_plan(const Rows& queries, const Rows& gallery,
               const RankedPairs& pairs, int64_t memory_mb) {
  const int64_t bytes = std::max<int64_t>(memory_mb, 1) << 20;
  const int64_t row_bytes = 4 * gallery.dim();
  const bool in_memory = queries.in_memory().defined();
  Plan plan;
  plan.run_queries = in_memory
                         ? std::max<int64_t>(pairs.queries(), 1)
                         : std::max<int64_t>(bytes / 4 / (3 * row_bytes), 64);
  // Of a gallery in a file: its rows as read, as float32 and scaled, and their
  // similarities with a block of queries.
  const int64_t fit = bytes / 2 / (4 * row_bytes + 4 * kTileQueries);
  plan.block_items = std::min(std::max<int64_t>(fit, 1024), gallery.count());
  plan.both_ways = queries.same_as(gallery) && in_memory &&
                   queries.device().is_cpu() && pairs.first == 0 &&
                   pairs.queries() == queries.count() &&
                   most_wanted(pairs) <= kMostBothWays;
  return plan;
}

Tensor view_of_indices(const int64_t* data, int64_t size) {
  return torch::from_blob(const_cast<int64_t*>(data), {size}, at::kLong);
}

/// The ranks of a run of queries [n, D] from `first` on, whose items begin at
/// offsets[0].
void rank_run(const Tensor& queries, int64_t first, const Rows& gallery,
              const int64_t* offsets, const int64_t* items,
              const Tensor& exclude, const Plan& plan, int64_t* ranks) {
  const int64_t n = queries.size(0);
  longest_row(queries, "query", first);
  const int64_t count = offsets[n] - offsets[0];
  std::vector<int64_t> query_of;
  query_of.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < n; ++i) {
    query_of.insert(query_of.end(),
                    static_cast<size_t>(offsets[i + 1] - offsets[i]), i);
  }
  const Part part(gallery);
  const bool in_memory = part.items.in_memory().defined();
  const Tensor similarity =
      pair_similarities(queries, part, view_of_indices(query_of.data(), count),
                        view_of_indices(items, count),
                        in_memory ? part.items.count() : plan.block_items);
  Counter counter(queries, sorted_pairs(offsets, n, items, similarity),
                  exclude);
  if (plan.both_ways) {
    count_both_ways(counter, or_alone(part.ranks));
  } else {
    count_all(counter, part, plan.block_items);
  }
  if (part.ranks != nullptr) counter.add_others(*part.ranks);
  counter.write_ranks(ranks);
}

}  // namespace

std::vector<int64_t> exact_ranks(const Rows& queries, const Rows& gallery,
                                 const RankedPairs& pairs,
                                 const Tensor& excluded,
                                 const RankOptions& options) {
  TORCH_CHECK_VALUE(queries.dim() == gallery.dim(), "queries have ",
                    queries.dim(), " dimensions, the gallery ", gallery.dim());
  const Tensor exclude = row_positions(excluded, queries.count(),
                                       gallery.count(), "items to exclude");
  const torch::NoGradGuard no_grad;
  const ProductPrecision exact(/*tf32=*/false);
  const Plan plan = make_plan(queries, gallery, pairs, options.memory_mb);
  std::vector<int64_t> ranks(pairs.items.size());
  const auto rank_all = [&] {
    for (int64_t q = 0; q < pairs.queries(); q += plan.run_queries) {
      const int64_t n = std::min(plan.run_queries, pairs.queries() - q);
      const int64_t* offsets = pairs.offsets.data() + q;
      if (offsets[n] == offsets[0]) continue;
      const int64_t first = pairs.first + q;
      rank_run(queries.read(first, n), first, gallery, offsets,
               pairs.items.data() + offsets[0],
               exclude.defined() ? exclude.slice(0, first, first + n) : exclude,
               plan, ranks.data() + offsets[0]);
    }
  };
  telling(or_alone(Part(gallery).ranks), rank_all);
  return ranks;
}

}  // namespace kith
