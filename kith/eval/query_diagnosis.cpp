#include "kith/eval/query_diagnosis.h"

#include <algorithm>
#include <span>
#include <utility>

#include <torch/torch.h>

#include "kith/eval/relevance.h"
#include "kith/index/flat.h"
#include "kith/index/products.h"
#include "kith/index/ranks.h"
#include "kith/index/row_blocks.h"

namespace kith {
namespace {

/// Neighbours that are searched for a query at most. A nearest negative beyond
/// them stays unknown; a search of unbounded depth would need memory for the
/// largest class of every query.
constexpr int64_t kDeepest = 1001;

/// Rows of a gallery in a file that are read at once to pick some of them.
constexpr int64_t kGatherRows = 4096;

enum class ItemKind : uint8_t { kNegative, kPositive, kJunk };

/// Queries of consecutive positions with their positives and junk.
struct Run {
  RankedPairs pairs;
  std::vector<int64_t> ranks;  ///< Of pairs.items.
  Neighbours found;
  std::vector<int64_t> positives;  ///< How many; the rest of the items is junk.

  std::span<const int64_t> items_of(int64_t i) const {
    return part(pairs.items, i);
  }
  std::span<const int64_t> ranks_of(int64_t i) const { return part(ranks, i); }

 private:
  std::span<const int64_t> part(const std::vector<int64_t>& all,
                                int64_t i) const {
    const int64_t begin = pairs.offsets[static_cast<size_t>(i)];
    const int64_t end = pairs.offsets[static_cast<size_t>(i) + 1];
    return {all.data() + begin, static_cast<size_t>(end - begin)};
  }
};

class Diagnoser {
 public:
  Diagnoser(const Scored& scored, int64_t k, int64_t memory_mb)
      : queries_(scored.queries),
        gallery_(scored.gallery.defined() ? scored.gallery : scored.queries),
        relevance_(scored),
        k_(k),
        memory_mb_(memory_mb),
        kinds_(static_cast<size_t>(relevance_.gallery()), ItemKind::kNegative),
        times_found_(static_cast<size_t>(relevance_.gallery())) {
    for (int64_t q = 0; q < relevance_.queries(); ++q) {
      const int64_t wanted =
          std::max(k, relevance_.positives(q) + 1) + relevance_.junk(q);
      depth_ = std::max(depth_, wanted);
    }
    depth_ = std::clamp<int64_t>(depth_, 1, kDeepest);
  }

  QueryDiagnoses all() && {
    std::vector<QueryDiagnosis> result;
    while (static_cast<int64_t>(result.size()) < relevance_.queries()) {
      const Run run = next_run(static_cast<int64_t>(result.size()));
      std::vector<QueryDiagnosis> part(
          static_cast<size_t>(run.pairs.queries()));
      for (size_t i = 0; i < part.size(); ++i) {
        judge_positives(run, static_cast<int64_t>(i), part[i]);
        judge_neighbours(run, static_cast<int64_t>(i), part[i]);
      }
      add_farthest_similarities(run.pairs.first, part);
      result.insert(result.end(), part.begin(), part.end());
    }
    return {std::move(result), std::move(times_found_)};
  }

 private:
  /// As many queries from `first` on as memory allows: their neighbours, their
  /// pairs, and their rows beside those of as many gallery items.
  Run next_run(int64_t first) {
    const int64_t budget = std::max<int64_t>(memory_mb_, 1) << 19;
    const int64_t most =
        std::max<int64_t>(budget / (depth_ * 12 + queries_.dim() * 8), 1);
    Run run;
    run.pairs = next_pairs(relevance_, first, most, budget);
    for (int64_t i = 0; i < run.pairs.queries(); ++i) {
      run.positives.push_back(relevance_.positives(first + i));
    }
    run.ranks = exact_ranks(queries_, gallery_, run.pairs, relevance_.self(),
                            {memory_mb_});
    SearchOptions search;
    search.k = depth_;
    search.memory_mb = memory_mb_;
    const int64_t count = run.pairs.queries();
    const Tensor& self = relevance_.self();
    run.found = exact_search(
        queries_.read(first, count), gallery_,
        self.defined() ? self.narrow(0, first, count) : Tensor(), search);
    return run;
  }

  /// Average precision and ranks, as if the junk were not in the gallery.
  static void judge_positives(const Run& run, int64_t i,
                              QueryDiagnosis& query) {
    const int64_t positives = run.positives[static_cast<size_t>(i)];
    if (positives == 0) return;
    const auto items = run.items_of(i);
    const auto ranks = run.ranks_of(i);
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t j = 0; j < ranks.size(); ++j) order.emplace_back(ranks[j], j);
    std::sort(order.begin(), order.end());
    int64_t junk = 0;
    int64_t hits = 0;
    double sum = 0;
    for (const auto& [place, j] : order) {
      if (static_cast<int64_t>(j) >= positives) {
        ++junk;
        continue;
      }
      const int64_t rank = place - junk;
      sum += static_cast<double>(++hits) / static_cast<double>(rank);
      if (hits == 1) query.nearest_positive_rank = rank;
      query.farthest_positive = items[j];
      query.farthest_positive_rank = rank;
    }
    query.average_precision = sum / static_cast<double>(positives);
  }

  /// The nearest item and negative; counts the k nearest for hubness.
  void judge_neighbours(const Run& run, int64_t i, QueryDiagnosis& query) {
    const auto items = run.items_of(i);
    const auto positives =
        static_cast<size_t>(run.positives[static_cast<size_t>(i)]);
    for (size_t j = 0; j < items.size(); ++j) {
      kind_of(items[j]) = j < positives ? ItemKind::kPositive : ItemKind::kJunk;
    }
    const int64_t width = run.found.indices.size(1);
    const int64_t* indices = run.found.indices.data_ptr<int64_t>() + i * width;
    const float* similarities =
        run.found.similarities.data_ptr<float>() + i * width;
    int64_t rank = 0;
    for (int64_t j = 0; j < width && indices[j] >= 0; ++j) {
      const ItemKind kind = kind_of(indices[j]);
      if (kind == ItemKind::kJunk) continue;
      if (++rank == 1) {
        query.nearest = indices[j];
        query.nearest_similarity = similarities[j];
      }
      if (rank <= k_) {
        ++times_found_[static_cast<size_t>(indices[j])];
      }
      if (kind == ItemKind::kNegative && query.nearest_negative < 0) {
        query.nearest_negative = indices[j];
        query.nearest_negative_similarity = similarities[j];
      }
      if (rank >= k_ && query.nearest_negative >= 0) break;
    }
    for (int64_t item : items) kind_of(item) = ItemKind::kNegative;
  }

  void add_farthest_similarities(int64_t first,
                                 std::vector<QueryDiagnosis>& part) const {
    std::vector<int64_t> places;
    std::vector<int64_t> items;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i].farthest_positive < 0) continue;
      places.push_back(static_cast<int64_t>(i));
      items.push_back(part[i].farthest_positive);
    }
    if (items.empty()) return;
    const Tensor rows = queries_.read(first, static_cast<int64_t>(part.size()));
    const Tensor far = gather_rows(gallery_, items, kGatherRows);
    const Tensor x_row = torch::tensor(places, torch::kLong).to(rows.device());
    const Tensor y_row = torch::arange(far.size(0), x_row.options());
    const Tensor found = exact_similarities(rows, far, x_row, y_row).cpu();
    const float* similarity = found.data_ptr<float>();
    for (int64_t place : places) {
      part[static_cast<size_t>(place)].farthest_positive_similarity =
          *similarity++;
    }
  }

  ItemKind& kind_of(int64_t item) { return kinds_[static_cast<size_t>(item)]; }

  Rows queries_;
  Rows gallery_;
  Relevance relevance_;
  int64_t k_;
  int64_t memory_mb_;
  int64_t depth_ = 1;
  std::vector<ItemKind> kinds_;  ///< Of gallery items, for the query at hand.
  std::vector<int64_t> times_found_;
};

}  // namespace

QueryDiagnoses diagnose_queries(const Scored& scored, int64_t k,
                                int64_t memory_mb) {
  const torch::NoGradGuard no_grad;
  return Diagnoser(checked_scored(scored), k, memory_mb).all();
}

}  // namespace kith
