#include "kith/index/flat.h"

#include <algorithm>
#include <limits>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/core/side_by_side.h"
#include "kith/index/products.h"
#include "kith/index/search_shards.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
/// Queries at a time: enough for the matrix product to run at full speed.
constexpr int64_t kQueryRows = 1024;

struct Candidate {
  float similarity;
  bool exact;  ///< Or a float32 product, which is off by at most the slack.
  int64_t index;

  bool operator<(const Candidate& other) const {  // nearer first
    return similarity > other.similarity ||
           (similarity == other.similarity && index < other.index);
  }
};

/// The k best of a stream of candidates, and those that may be as good: up to
/// twice the slack below the k-th. Cut back whenever there are twice as many,
/// so a candidate costs O(1) on average.
class Best {
 public:
  explicit Best(int64_t k) : k_(static_cast<size_t>(k)), room_(2 * k_ + 16) {}

  void offer(float similarity, int64_t index, float slack) {
    if (similarity < bar_ || similarity == kNothing) return;
    kept_.push_back({similarity, false, index});
    if (kept_.size() < room_) return;
    cut(slack);
    room_ = std::max(room_, 2 * kept_.size());
  }

  /// Makes the similarities exact, while the rows [item0, ...) of the gallery
  /// that were offered since the last time are at hand.
  void settle(const float* query, const Tensor& gallery, int64_t item0,
              float slack) {
    cut(slack);
    const std::vector<int64_t> here = unsettled(item0);
    std::vector<int64_t> zeros(here.size(), 0);
    std::vector<float> similarity(here.size());
    const RowPairs pairs{query,           gallery.data_ptr<float>(),
                         gallery.size(1), zeros.data(),
                         here.data(),     similarity.data()};
    rank_kernels(at::kCPU).similarities(
        pairs, {0, static_cast<int64_t>(here.size()), nullptr});
    size_t next = 0;
    for (Candidate& candidate : kept_) {
      if (candidate.exact) continue;
      candidate.similarity = similarity[next++];
      candidate.exact = true;
    }
  }

  /// The k best, all exact, nearest first.
  const std::vector<Candidate>& sorted() {
    std::sort(kept_.begin(), kept_.end());
    if (kept_.size() > k_) kept_.resize(k_);
    return kept_;
  }

 private:
  std::vector<int64_t> unsettled(int64_t item0) const {
    std::vector<int64_t> rows;
    for (const Candidate& candidate : kept_) {
      if (!candidate.exact) rows.push_back(candidate.index - item0);
    }
    return rows;
  }

  void cut(float slack) {
    if (kept_.size() <= k_) return;
    const auto kth = kept_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(kept_.begin(), kth, kept_.end());
    bar_ = std::max(bar_, kth->similarity - 2 * slack);
    std::erase_if(kept_, [&](const Candidate& candidate) {
      return candidate.similarity < bar_;
    });
  }

  size_t k_;
  size_t room_;
  float bar_ = kNothing;
  std::vector<Candidate> kept_;
};

/// A run of queries that are searched together.
struct Run {
  int64_t first = 0;
  Tensor queries;                    ///< [n, D]
  const int64_t* exclude = nullptr;  ///< [n] or null
  Tensor errors;                     ///< [n] product_errors
};

/// How the gallery is walked through.
struct Blocks {
  int64_t read = 0;     ///< Rows of the gallery in memory at a time.
  int64_t columns = 0;  ///< Of those, in a block of similarities.
};

/// Offers a block of similarities to the bests of its rows.
void offer_block(const Tensor& block, int64_t item0, const int64_t* exclude,
                 const float* slack, Best* bests) {
  const float* data = block.data_ptr<float>();
  const int64_t columns = block.size(1);
  for (int64_t row = 0; row < block.size(0); ++row) {
    const int64_t skip = exclude == nullptr ? -1 : exclude[row];
    const float* similarity = data + row * columns;
    for (int64_t j = 0; j < columns; ++j) {
      if (item0 + j == skip) continue;
      bests[row].offer(similarity[j], item0 + j, slack[row]);
    }
  }
}

void write_rows(std::vector<Best>& bests, int64_t first, Neighbours& found) {
  const int64_t k = found.indices.size(1);
  int64_t* indices = found.indices.data_ptr<int64_t>() + first * k;
  float* similarities = found.similarities.data_ptr<float>() + first * k;
  const auto rows = static_cast<int64_t>(bests.size());
  at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto& sorted = bests[static_cast<size_t>(row)].sorted();
      for (size_t i = 0; i < sorted.size(); ++i) {
        indices[row * k + static_cast<int64_t>(i)] = sorted[i].index;
        similarities[row * k + static_cast<int64_t>(i)] = sorted[i].similarity;
      }
    }
  });
}

/// Threads take queries in turns, and each multiplies and chooses by itself:
/// threads that share a product wait for each other.
void search_on_cpu(const Run& run, const Rows& gallery, const Blocks& blocks,
                   Neighbours& found) {
  const int64_t n = run.queries.size(0);
  const int64_t rows_at_once = std::clamp<int64_t>(
      n / (int64_t{4} * at::get_num_threads()), 64, kQueryRows);
  std::vector<Best> bests(static_cast<size_t>(n), Best(found.indices.size(1)));
  for (int64_t g = 0; g < gallery.count(); g += blocks.read) {
    const Tensor rows =
        gallery.read(g, std::min(blocks.read, gallery.count() - g));
    const Tensor slacks = (run.errors * longest_row(rows, "gallery item", g))
                              .to(at::kFloat)
                              .contiguous();
    const float* slack = slacks.data_ptr<float>();
    const auto search = [&](int64_t block) {
      const int64_t q = block * rows_at_once;
      const int64_t last = std::min(q + rows_at_once, n);
      const Tensor queries = run.queries.slice(0, q, last);
      for (int64_t c = 0; c < rows.size(0); c += blocks.columns) {
        offer_block(
            torch::mm(queries, rows.slice(0, c, c + blocks.columns).t()), g + c,
            run.exclude == nullptr ? nullptr : run.exclude + q, slack + q,
            bests.data() + q);
      }
      for (int64_t i = q; i < last; ++i) {
        bests[static_cast<size_t>(i)].settle(
            run.queries.data_ptr<float>() + i * run.queries.size(1), rows, g,
            slack[i]);
      }
    };
    run_side_by_side((n + rows_at_once - 1) / rows_at_once, search);
  }
  write_rows(bests, run.first, found);
}

/// The candidates of a run on a GPU: more than k of each query, so that
/// rounding does not lose one.
struct GpuCandidates {
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
  block.scatter_(1, at, block.gather(1, at).masked_fill(inside, kNothing));
}

/// Writes the k nearest of the candidates, by their exact similarities.
void write_nearest(const Run& run, const Rows& gallery, int64_t read,
                   const GpuCandidates& candidates, Neighbours& found) {
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
  exact.masked_fill_(candidates.similarity.gather(1, order) == kNothing,
                     kNothing);
  const auto [similarity, at] =
      exact.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  index = index.gather(1, at).masked_fill(similarity == kNothing, -1);
  const int64_t n = run.queries.size(0);
  const int64_t k = found.indices.size(1);
  found.similarities.narrow(0, run.first, n).copy_(similarity.slice(1, 0, k));
  found.indices.narrow(0, run.first, n).copy_(index.slice(1, 0, k));
}

/// Searches one block of queries on a GPU. False if rounding, or many equal
/// similarities, leave open who is among the k nearest.
bool search_on_gpu(const Run& run, const Rows& gallery, const Blocks& blocks,
                   Neighbours& found) {
  const int64_t k = found.indices.size(1);
  const int64_t most = std::min(k + k / 8 + 32, gallery.count());
  Tensor exclude;
  if (run.exclude != nullptr) {
    exclude = torch::from_blob(const_cast<int64_t*>(run.exclude),
                               {run.queries.size(0), 1}, at::kLong)
                  .to(run.queries.device());
  }
  GpuCandidates candidates;
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

}  // namespace

Neighbours exact_search(const Rows& queries, const Rows& gallery,
                        const Tensor& excluded, const SearchOptions& options) {
  if (gallery.shard() != nullptr) {
    return search_shards(queries, gallery, excluded, options);
  }
  TORCH_CHECK_VALUE(queries.dim() == gallery.dim(),
                    "queries and gallery must be [Q, D] and [N, D], got D = ",
                    queries.dim(), " and ", gallery.dim());
  TORCH_CHECK_VALUE(options.k > 0, "k must be positive, got ", options.k);
  const Tensor exclude = row_positions(excluded, queries.count(),
                                       gallery.count(), "items to exclude");
  const torch::NoGradGuard no_grad;
  const ProductPrecision float32(/*tf32=*/false);
  const int64_t k = std::min(options.k, gallery.count());
  Neighbours found{torch::full({queries.count(), k}, -1, torch::kLong),
                   torch::full({queries.count(), k}, kNothing, torch::kFloat)};
  const bool on_gpu = queries.device().is_cuda();
  const int64_t bytes = std::max<int64_t>(options.memory_mb, 1) << 20;
  const int64_t row_bytes = 4 * gallery.dim();
  Blocks blocks;
  // On the CPU each thread has a block.
  const int64_t at_once = on_gpu ? 1 : at::get_num_threads();
  blocks.columns = std::clamp<int64_t>(bytes / 2 / (4 * kQueryRows) / at_once,
                                       256, on_gpu ? 1 << 16 : 4096);
  blocks.read = gallery.in_memory().defined()
                    ? gallery.count()
                    : std::max<int64_t>(bytes / 4 / (3 * row_bytes), 256);
  // On the CPU as many queries together as fit, so that a gallery in a file is
  // read as rarely as possible.
  const int64_t kept = 16 * (3 * k + 16) + row_bytes;
  const int64_t run_rows =
      on_gpu ? kQueryRows : std::max<int64_t>(bytes / 4 / kept, kQueryRows / 4);
  for (int64_t q = 0; q < queries.count(); q += run_rows) {
    Run run;
    run.first = q;
    run.queries = queries.read(q, std::min(run_rows, queries.count() - q));
    run.exclude = exclude.defined() ? exclude.data_ptr<int64_t>() + q : nullptr;
    longest_row(run.queries, "query", q);
    run.errors = product_errors(run.queries);
    if (on_gpu && search_on_gpu(run, gallery, blocks, found)) continue;
    run.queries = run.queries.cpu();
    run.errors = run.errors.cpu();
    search_on_cpu(run, on_gpu ? gallery.on(at::kCPU) : gallery, blocks, found);
  }
  return found;
}

}  // namespace kith
