#include "kith/eval/similarity_histogram.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <span>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/core/draw.h"
#include "kith/core/error.h"
#include "kith/eval/relevance.h"
#include "kith/index/row_blocks.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Queries that are compared with a block of the gallery at once.
constexpr int64_t kBlockRows = 256;

enum class PairKind : uint8_t { kNegative, kPositive, kNoPair };

/// Similarities of some queries with items from `first_item` on.
struct ScoreBlock {
  std::span<const int64_t> queries;
  Tensor similarities;  ///< [q, n] float32 on the CPU.
  int64_t first_item = 0;
};

void add(const std::vector<int64_t>& from, std::vector<int64_t>& to) {
  std::transform(from.begin(), from.end(), to.begin(), to.begin(),
                 std::plus<>());
}

class Counter {
 public:
  Counter(const Relevance& relevance, int64_t bins)
      : relevance_(relevance), bins_(bins), total_(empty()) {}

  /// Counts are sums of whole numbers: the same in any order of the threads.
  void count(const ScoreBlock& block) {
    std::mutex mutex;
    at::parallel_for(0, block.similarities.size(0), kGrain,
                     [&](int64_t begin, int64_t end) {
                       SimilarityCounts own = empty();
                       std::vector<PairKind> kinds(
                           static_cast<size_t>(block.similarities.size(1)),
                           PairKind::kNegative);
                       for (int64_t row = begin; row < end; ++row) {
                         count_row(block, row, kinds, own);
                       }
                       const std::lock_guard<std::mutex> lock(mutex);
                       add(own.positive, total_.positive);
                       add(own.negative, total_.negative);
                     });
  }

  const SimilarityCounts& total() const { return total_; }

 private:
  static constexpr int64_t kGrain = 16;  // rows

  SimilarityCounts empty() const {
    return {std::vector<int64_t>(static_cast<size_t>(bins_)),
            std::vector<int64_t>(static_cast<size_t>(bins_)), 0};
  }

  void count_row(const ScoreBlock& block, int64_t row,
                 std::vector<PairKind>& kinds, SimilarityCounts& own) const {
    const int64_t query = block.queries[static_cast<size_t>(row)];
    std::vector<int64_t> items;
    relevance_.append_items(query, items);
    const int64_t positives = relevance_.positives(query);
    const auto mark = [&](int64_t item, PairKind kind) {
      const int64_t column = item - block.first_item;
      if (column < 0 || column >= std::ssize(kinds)) return;
      kinds[static_cast<size_t>(column)] = kind;
    };
    for (int64_t i = 0; i < std::ssize(items); ++i) {
      mark(items[static_cast<size_t>(i)],
           i < positives ? PairKind::kPositive : PairKind::kNoPair);
    }
    const Tensor& self = relevance_.self();
    const int64_t at =
        self.defined() ? self.data_ptr<int64_t>()[query] : int64_t{-1};
    mark(at, PairKind::kNoPair);
    count_values(block.similarities.data_ptr<float>() + row * std::ssize(kinds),
                 kinds, own);
    for (const int64_t item : items) mark(item, PairKind::kNegative);
    mark(at, PairKind::kNegative);
  }

  void count_values(const float* values, const std::vector<PairKind>& kinds,
                    SimilarityCounts& own) const {
    const double scale = static_cast<double>(bins_) / 2;
    for (size_t j = 0; j < kinds.size(); ++j) {
      if (kinds[j] == PairKind::kNoPair) continue;
      const double place =
          (std::clamp(static_cast<double>(values[j]), -1.0, 1.0) + 1) * scale;
      const auto bin =
          static_cast<size_t>(std::min(static_cast<int64_t>(place), bins_ - 1));
      ++(kinds[j] == PairKind::kPositive ? own.positive : own.negative)[bin];
    }
  }

  const Relevance& relevance_;
  int64_t bins_;
  SimilarityCounts total_;
};

}  // namespace

SimilarityCounts similarity_counts(const Scored& given, int64_t bins,
                                   int64_t most_queries, uint64_t seed,
                                   int64_t memory_mb) {
  KITH_ASSERT(bins > 0);
  const torch::NoGradGuard no_grad;
  const ProductPrecision float32(/*tf32=*/false);
  const Scored scored = checked_scored(given);
  const Relevance relevance(scored);
  const Rows& gallery =
      scored.gallery.defined() ? scored.gallery : scored.queries;
  Rng rng(seed, Stream::kReport);
  std::vector<int64_t> queries =
      draw_distinct(relevance.queries(), most_queries, rng);
  std::sort(queries.begin(), queries.end());  // as a file is read
  // A similarity and its copy from a GPU; of a file's rows three copies.
  const int64_t cells = rows_within(memory_mb, 8);
  const int64_t columns =
      std::max<int64_t>(cells / (kBlockRows + 2 * gallery.dim()), 1);
  Counter counter(relevance, bins);
  for (size_t first = 0; first < queries.size(); first += kBlockRows) {
    const size_t count =
        std::min(queries.size() - first, static_cast<size_t>(kBlockRows));
    const std::vector<int64_t> part(
        queries.begin() + static_cast<int64_t>(first),
        queries.begin() + static_cast<int64_t>(first + count));
    const Tensor rows = gather_rows(scored.queries, part, columns);
    for_each_block(gallery, columns, [&](int64_t item, const Tensor& items) {
      const Tensor products = torch::mm(rows, items.t()).to(torch::kCPU);
      counter.count({part, products.contiguous(), item});
    });
  }
  SimilarityCounts result = counter.total();
  result.queries = std::ssize(queries);
  return result;
}

}  // namespace kith
