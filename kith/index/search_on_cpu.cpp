#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/core/side_by_side.h"
#include "kith/index/products.h"
#include "kith/index/search_ways.h"

namespace kith {
namespace {

constexpr float kNoCandidate = -std::numeric_limits<float>::infinity();

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
    if (similarity < bar_ || similarity == kNoCandidate) return;
    kept_.push_back({similarity, false, index});
    if (kept_.size() < room_) return;
    cut(slack);
    room_ = std::max(room_, 2 * kept_.size());
  }

  /// Makes the similarities exact, times `sign`, while the rows [item0, ...) of
  /// the gallery that were offered since the last time are at hand.
  void settle(const float* query, const Tensor& gallery, int64_t item0,
              float slack, float sign) {
    cut(slack);
    const std::vector<int64_t> here = unsettled(item0);
    std::vector<float> similarity(here.size());
    const RowPairs pairs{query,           gallery.data_ptr<float>(),
                         gallery.size(1), nullptr,
                         here.data(),     similarity.data()};
    rank_kernels(at::kCPU).similarities(
        pairs, {0, static_cast<int64_t>(here.size()), nullptr});
    size_t next = 0;
    for (Candidate& candidate : kept_) {
      if (candidate.exact) continue;
      candidate.similarity = sign * similarity[next++];
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
  float bar_ = kNoCandidate;
  std::vector<Candidate> kept_;
};

/// What is kept of each query: its nearest, and its farthest if that is wanted,
/// whose similarities are offered with the other sign.
struct Kept {
  std::vector<Best> nearest;
  std::vector<Best> farthest;
};

/// Offers a block of similarities to the queries from `first` on.
void offer_block(const Tensor& block, int64_t item0, const int64_t* exclude,
                 const float* slack, Kept& kept, int64_t first) {
  const float* data = block.data_ptr<float>();
  const int64_t columns = block.size(1);
  for (int64_t row = 0; row < block.size(0); ++row) {
    const int64_t skip = exclude == nullptr ? -1 : exclude[row];
    const float* similarity = data + row * columns;
    const auto query = static_cast<size_t>(first + row);
    for (int64_t j = 0; j < columns; ++j) {
      if (item0 + j == skip) continue;
      kept.nearest[query].offer(similarity[j], item0 + j, slack[row]);
    }
    if (kept.farthest.empty()) continue;
    for (int64_t j = 0; j < columns; ++j) {
      kept.farthest[query].offer(-similarity[j], item0 + j, slack[row]);
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

}  // namespace

/// Threads take queries in turns, and each multiplies and chooses by itself:
/// threads that share a product wait for each other.
void search_on_cpu(const SearchRun& run, const Rows& gallery,
                   const SearchBlocks& blocks, Neighbours& found) {
  const int64_t n = run.queries.size(0);
  const int64_t rows_at_once = std::clamp<int64_t>(
      n / (int64_t{4} * at::get_num_threads()), 64, kProductQueries);
  Kept kept;
  kept.nearest.assign(static_cast<size_t>(n), Best(found.indices.size(1)));
  if (found.farthest.defined()) {
    kept.farthest.assign(static_cast<size_t>(n), Best(1));
  }
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
            run.exclude == nullptr ? nullptr : run.exclude + q, slack + q, kept,
            q);
      }
      for (int64_t i = q; i < last; ++i) {
        const float* query =
            run.queries.data_ptr<float>() + i * run.queries.size(1);
        const auto at = static_cast<size_t>(i);
        kept.nearest[at].settle(query, rows, g, slack[i], 1);
        if (kept.farthest.empty()) continue;
        kept.farthest[at].settle(query, rows, g, slack[i], -1);
      }
    };
    run_side_by_side((n + rows_at_once - 1) / rows_at_once, search);
  }
  write_rows(kept.nearest, run.first, found);
  for (size_t i = 0; i < kept.farthest.size(); ++i) {
    found.farthest.data_ptr<float>()[static_cast<size_t>(run.first) + i] =
        -kept.farthest[i].sorted().front().similarity;
  }
}

}  // namespace kith
