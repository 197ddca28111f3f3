#include "kith/index/pair_similarities.h"

#include <algorithm>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/index/products.h"
#include "kith/index/shared_rows.h"

namespace kith {
namespace {

/// Bytes of the items that a thread compares with all queries before it goes on
/// to the next: they stay in its nearest large cache.
constexpr int64_t kTileBytes = int64_t{1} << 19;

/// Pairs that a GPU is given at a time: 84 MB.
constexpr int64_t kPairsOnGpu = int64_t{1} << 22;

Tensor view_of(const int64_t* data, int64_t size) {
  return torch::from_blob(const_cast<int64_t*>(data), {size}, at::kLong);
}

/// On a GPU, by way of memory that it can read itself.
Tensor on_gpu(const Tensor& numbers, const c10::Device& device) {
  return numbers.pin_memory().to(device, /*non_blocking=*/true);
}

/// How many pairs each of the queries [first, last) has.
Tensor counts_of(const PairRun& run, int64_t first, int64_t last) {
  return view_of(run.offsets + first + 1, last - first) -
         view_of(run.offsets + first, last - first);
}

/// Of the queries [first, last) of a run.
void similarities_on_gpu(const PairRun& run, int64_t first, int64_t last,
                         const Tensor& gallery, const int64_t* items,
                         float* to) {
  const c10::Device device = run.queries.device();
  const int64_t begin = run.offsets[first] - run.first();
  const int64_t count = run.offsets[last] - run.offsets[first];
  const Tensor x_row =
      torch::repeat_interleave(on_gpu(counts_of(run, first, last), device));
  const Tensor found =
      exact_similarities(run.queries.slice(0, first, last), gallery, x_row,
                         on_gpu(view_of(items + begin, count), device));
  const Tensor here =
      torch::empty({count}, torch::TensorOptions().pinned_memory(true))
          .copy_(found);
  torch::from_blob(to + begin, {count}, at::kFloat).copy_(here);
}

void similarities_on_gpu(const PairRun& run, const Tensor& gallery,
                         const int64_t* items, float* to) {
  const int64_t queries = run.queries.size(0);
  for (int64_t q = 0; q < queries;) {
    int64_t last = q + 1;
    while (last < queries &&
           run.offsets[last + 1] - run.offsets[q] <= kPairsOnGpu) {
      ++last;
    }
    if (run.offsets[last] > run.offsets[q]) {
      similarities_on_gpu(run, q, last, gallery, items, to);
    }
    q = last;
  }
}

/// Pairs on the CPU, of rows in memory.
struct PairsOnCpu {
  const PairRun& run;
  const Tensor& gallery;
  const int64_t* items;  ///< Of the run's first pair on.
  float* to;

  int64_t queries() const { return run.queries.size(0); }
  int64_t begin(int64_t q) const { return run.offsets[q] - run.offsets[0]; }

  /// The pairs [from, last) of query q.
  void compute(int64_t q, int64_t from, int64_t last) const {
    const int64_t dim = gallery.size(1);
    const RowPairs pairs{run.queries.data_ptr<float>() + q * dim,
                         gallery.data_ptr<float>(),
                         dim,
                         nullptr,
                         items + from,
                         to + from};
    rank_kernels(at::kCPU).similarities(pairs, {0, last - from, nullptr});
  }
};

bool items_rise(const PairsOnCpu& pairs) {
  for (int64_t q = 0; q < pairs.queries(); ++q) {
    if (!std::is_sorted(pairs.items + pairs.begin(q),
                        pairs.items + pairs.begin(q + 1))) {
      return false;
    }
  }
  return true;
}

/// Where queries have many pairs, whose items rise: each thread goes through
/// its part of the gallery once, and compares a tile with all queries.
void compute_by_tiles(const PairsOnCpu& pairs, int64_t tile_items) {
  const int64_t count = pairs.gallery.size(0);
  const int64_t tiles = (count + tile_items - 1) / tile_items;
  at::parallel_for(0, tiles, 1, [&](int64_t first, int64_t last) {
    std::vector<int64_t> next(static_cast<size_t>(pairs.queries()));
    for (int64_t q = 0; q < pairs.queries(); ++q) {
      next[static_cast<size_t>(q)] =
          std::lower_bound(pairs.items + pairs.begin(q),
                           pairs.items + pairs.begin(q + 1),
                           first * tile_items) -
          pairs.items;
    }
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t beyond = (tile + 1) * tile_items;
      for (int64_t q = 0; q < pairs.queries(); ++q) {
        int64_t& from = next[static_cast<size_t>(q)];
        int64_t to = from;
        while (to < pairs.begin(q + 1) && pairs.items[to] < beyond) ++to;
        if (to > from) pairs.compute(q, from, to);
        from = to;
      }
    }
  });
}

void similarities_on_cpu(const PairsOnCpu& pairs) {
  const int64_t row_bytes = 4 * std::max<int64_t>(pairs.gallery.size(1), 1);
  const int64_t tile_items = std::max<int64_t>(kTileBytes / row_bytes, 16);
  const int64_t tiles = (pairs.gallery.size(0) + tile_items - 1) / tile_items;
  if (pairs.run.count() >= tiles * pairs.queries() && items_rise(pairs)) {
    compute_by_tiles(pairs, tile_items);
    return;
  }
  at::parallel_for(0, pairs.queries(), 1, [&](int64_t first, int64_t last) {
    for (int64_t q = first; q < last; ++q) {
      pairs.compute(q, pairs.begin(q), pairs.begin(q + 1));
    }
  });
}

/// Exact similarities of the wanted pairs whose item is in a part of the
/// gallery, which is read by blocks; `items` are sorted.
Tensor similarities_of_part(const Tensor& queries, const GalleryPart& part,
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

}  // namespace

GalleryPart::GalleryPart(const Rows& gallery) : items(gallery) {
  const RowShard* shard = gallery.shard();
  if (shard == nullptr) return;
  items = shard->mine;
  first = shard->first;
  ranks = shard->ranks;
}

void write_similarities(const PairRun& run, const GalleryPart& part,
                        const int64_t* items, int64_t block_rows, float* to) {
  const Tensor all = part.items.in_memory();
  if (part.ranks == nullptr && all.defined()) {
    if (run.queries.device().is_cuda()) {
      similarities_on_gpu(run, all, items, to);
    } else {
      similarities_on_cpu({run, all, items, to});
    }
    return;
  }
  const auto [sorted, order] = view_of(items, run.count()).sort();
  const int64_t* data = sorted.data_ptr<int64_t>();
  const int64_t* end = data + sorted.size(0);
  const Tensor query_of =
      torch::repeat_interleave(counts_of(run, 0, run.queries.size(0)));
  const int64_t from = std::lower_bound(data, end, part.first) - data;
  const int64_t last = std::lower_bound(data, end, part.last()) - data;
  Tensor found = similarities_of_part(
      run.queries, part, query_of.index_select(0, order.slice(0, from, last)),
      sorted.slice(0, from, last), block_rows);
  // The parts of the ranks follow each other, and so do their pairs.
  if (part.ranks != nullptr) found = part.ranks->all_gather(found);
  torch::from_blob(to, {run.count()}, at::kFloat).index_copy_(0, order, found);
}

}  // namespace kith
