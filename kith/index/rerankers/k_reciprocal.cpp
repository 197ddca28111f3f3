#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <span>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/flat.h"
#include "kith/index/ranks.h"
#include "kith/index/rerank_rows.h"
#include "kith/index/rerankers.h"
#include "kith/index/row_blocks.h"
#include "kith/index/sort_numbers.h"

namespace kith {
namespace {

/// A number of a sparse vector.
struct SparseEntry {
  int32_t at = 0;
  float value = 0;
};

/// Sparse vectors, one after the other.
struct SparseRows {
  std::vector<int64_t> offsets = {0};
  std::vector<SparseEntry> entries;

  std::span<const SparseEntry> row(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return {entries.data() + offsets[at],
            static_cast<size_t>(offsets[at + 1] - offsets[at])};
  }
  void add(const std::vector<SparseEntry>& row) {
    entries.insert(entries.end(), row.begin(), row.end());
    offsets.push_back(std::ssize(entries));
  }
};

/// The queries that are not in the gallery, and then the gallery: what is
/// compared with each other.
struct Together {
  Rows rows;
  int64_t outside = 0;         ///< Queries before the gallery.
  std::vector<int64_t> place;  ///< [Q] of each query.

  explicit Together(const RerankSet& set) : rows(set.gallery) {
    std::vector<int64_t> own;
    const int64_t* self =
        set.self.defined() ? set.self.data_ptr<int64_t>() : nullptr;
    for (int64_t q = 0; q < set.queries.count(); ++q) {
      const int64_t in_gallery = self == nullptr ? -1 : self[q];
      place.push_back(in_gallery);
      if (in_gallery < 0) own.push_back(q);
    }
    outside = std::ssize(own);
    int64_t next = 0;
    for (int64_t& at : place) at = at < 0 ? next++ : at + outside;
    if (outside > 0) rows = rows_before(set.queries, own, set);
  }
};

/// d of a similarity, where the largest squared distance is `farthest`.
double scaled_distance(float similarity, double farthest) {
  const double squared = 2 - 2 * static_cast<double>(similarity);
  return squared <= 0 || farthest == 0 ? 0 : squared / farthest;
}

bool holds_item(std::span<const int32_t> items, int64_t item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

/// The mutual neighbours of all items, as sparse vectors.
class ReciprocalSets {
 public:
  ReciprocalSets(const Rows& rows, const KReciprocalOptions& options,
                 int64_t memory_mb)
      : count_(rows.count()),
        k1_(options.k1),
        half_(static_cast<int64_t>(
            std::nearbyint(static_cast<double>(options.k1) / 2))),
        k2_(options.k2) {
    find_neighbours(rows, memory_mb);
    encode_all(rows, memory_mb);
  }

  int64_t count() const { return count_; }

  /// The squared distance of an item's farthest.
  double farthest(int64_t item) const {
    return farthest_[static_cast<size_t>(item)];
  }

  /// The mean of the vectors of an item's first k2 neighbours, rising.
  std::vector<SparseEntry> expanded(int64_t item) const {
    std::vector<SparseEntry> all;
    for (const int32_t near : first(item, k2_)) {
      const auto row = vectors_.row(near);
      all.insert(all.end(), row.begin(), row.end());
    }
    if (k2_ == 1) return all;
    // Of equal places the nearer neighbour's first: sums have one order.
    std::vector<uint64_t> order(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      order[i] = (static_cast<uint64_t>(all[i].at) << 32) | i;
    }
    std::sort(order.begin(), order.end());
    const auto entry = [&](size_t i) -> const SparseEntry& {
      return all[static_cast<uint32_t>(order[i])];
    };
    std::vector<SparseEntry> mean;
    mean.reserve(all.size());
    for (size_t i = 0; i < all.size();) {
      const int32_t at = entry(i).at;
      double sum = 0;
      for (; i < all.size() && entry(i).at == at; ++i) sum += entry(i).value;
      mean.push_back({at, static_cast<float>(sum / static_cast<double>(k2_))});
    }
    return mean;
  }

 private:
  /// The first k of the item and its neighbours.
  std::span<const int32_t> first(int64_t item, int64_t k) const {
    return {near_.data() + item * (k1_ + 1), static_cast<size_t>(k)};
  }

  void find_neighbours(const Rows& rows, int64_t memory_mb) {
    const Neighbours found =
        exact_search(rows, rows, torch::arange(count_, at::kLong),
                     {.k = k1_, .memory_mb = memory_mb, .farthest = true});
    const int64_t* index = found.indices.data_ptr<int64_t>();
    const float* farthest = found.farthest.data_ptr<float>();
    near_.resize(static_cast<size_t>(count_ * (k1_ + 1)));
    farthest_.resize(static_cast<size_t>(count_));
    for (int64_t i = 0; i < count_; ++i) {
      int32_t* near = near_.data() + i * (k1_ + 1);
      *near++ = static_cast<int32_t>(i);
      for (int64_t j = 0; j < k1_; ++j) {
        *near++ = static_cast<int32_t>(index[i * k1_ + j]);
      }
      farthest_[static_cast<size_t>(i)] =
          std::max(0.0, 2 - 2 * static_cast<double>(farthest[i]));
    }
  }

  /// R(item, k)
  std::vector<int32_t> reciprocal(int64_t item, int64_t k) const {
    std::vector<int32_t> mutual;
    for (const int32_t near : first(item, k + 1)) {
      if (holds_item(first(near, k + 1), item)) mutual.push_back(near);
    }
    return mutual;
  }

  /// R*(item), rising.
  std::vector<int32_t> expansion(int64_t item) const {
    const std::vector<int32_t> own = reciprocal(item, k1_);
    std::vector<int32_t> all = own;
    for (const int32_t candidate : own) {
      const std::vector<int32_t> more = reciprocal(candidate, half_);
      const auto shared =
          std::count_if(more.begin(), more.end(),
                        [&](int32_t other) { return holds_item(own, other); });
      if (3 * shared > 2 * std::ssize(more)) {
        all.insert(all.end(), more.begin(), more.end());
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// V before it is expanded.
  void encode_all(const Rows& rows, int64_t memory_mb) {
    const int64_t most = 128 * (k1_ + 1);  // bytes of a usual set
    const int64_t step = rows_within(memory_mb, most);
    for (int64_t begin = 0; begin < count_; begin += step) {
      encode(rows, begin, std::min(step, count_ - begin), memory_mb);
    }
  }

  void encode(const Rows& rows, int64_t begin, int64_t size,
              int64_t memory_mb) {
    std::vector<std::vector<int32_t>> sets(static_cast<size_t>(size));
    at::parallel_for(0, size, 64, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        sets[static_cast<size_t>(i)] = expansion(begin + i);
      }
    });
    RankedPairs pairs;
    pairs.first = begin;
    for (const std::vector<int32_t>& set : sets) {
      pairs.items.insert(pairs.items.end(), set.begin(), set.end());
      pairs.offsets.push_back(std::ssize(pairs.items));
    }
    std::vector<float> similarities;
    pair_similarities(rows, rows, pairs, similarities, {memory_mb});
    std::vector<std::vector<SparseEntry>> vectors(sets.size());
    at::parallel_for(0, size, 64, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const auto at = static_cast<size_t>(i);
        vectors[at] = weighted(begin + i, sets[at],
                               similarities.data() + pairs.offsets[at]);
      }
    });
    for (const std::vector<SparseEntry>& vector : vectors) vectors_.add(vector);
  }

  std::vector<SparseEntry> weighted(int64_t item,
                                    const std::vector<int32_t>& set,
                                    const float* similarity) const {
    std::vector<double> weights;
    double sum = 0;
    for (size_t j = 0; j < set.size(); ++j) {
      const double d =
          set[j] == item ? 0 : scaled_distance(similarity[j], farthest(item));
      weights.push_back(std::exp(-d));
      sum += weights.back();
    }
    std::vector<SparseEntry> row;
    for (size_t j = 0; j < set.size(); ++j) {
      row.push_back({set[j], static_cast<float>(weights[j] / sum)});
    }
    return row;
  }

  int64_t count_;
  int64_t k1_;
  int64_t half_;
  int64_t k2_;
  std::vector<int32_t> near_;     ///< [count, k1 + 1], itself first.
  std::vector<double> farthest_;  ///< [count]
  SparseRows vectors_;
};

/// Of each item the gallery items in whose vectors it is, rising.
SparseRows inverted(const ReciprocalSets& sets, int64_t outside) {
  SparseRows lists;
  std::vector<int64_t> next(static_cast<size_t>(sets.count()) + 1);
  // Once to count, once to write. Threads take the next place of a list as they
  // come, so lists are sorted behind.
  const auto walk = [&](const auto& visit) {
    at::parallel_for(outside, sets.count(), 64, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        for (const SparseEntry& entry : sets.expanded(i)) {
          visit(static_cast<int32_t>(i - outside), entry);
        }
      }
    });
  };
  const auto take = [&](int64_t list) {
    return std::atomic_ref(next[static_cast<size_t>(list)])
        .fetch_add(1, std::memory_order_relaxed);
  };
  walk([&](int32_t, const SparseEntry& entry) { take(entry.at + 1); });
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  lists.offsets = next;
  lists.entries.resize(static_cast<size_t>(next.back()));
  walk([&](int32_t item, const SparseEntry& entry) {
    lists.entries[static_cast<size_t>(take(entry.at))] = {item, entry.value};
  });
  at::parallel_for(0, sets.count(), 256, [&](int64_t from, int64_t to) {
    for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
      std::sort(lists.entries.begin() + lists.offsets[i],
                lists.entries.begin() + lists.offsets[i + 1],
                [](const SparseEntry& a, const SparseEntry& b) {
                  return a.at < b.at;
                });
    }
  });
  return lists;
}

/// Related items that a thread finds, and what it needs for that.
struct RelatedPart {
  std::vector<double> shared;  ///< [N] zero, before and after a query.
  std::vector<int32_t> room;
  std::vector<int32_t> met;    ///< By the query at work.
  std::vector<int32_t> items;  ///< Of all its queries, and with them
  std::vector<double> apart;
};

class JaccardOrder final : public ItemOrder {
 public:
  JaccardOrder(const RerankSet& set, const KReciprocalOptions& options)
      : self_(set.self),
        items_(set.gallery.count()),
        lambda_(options.lambda),
        together_(set),
        sets_(together_.rows, options, set.memory_mb),
        lists_(inverted(sets_, together_.outside)) {}

  void related(int64_t first, int64_t last, RelatedItems& to) override {
    const int64_t queries = last - first;
    const int64_t parts = std::min<int64_t>(at::get_num_threads(), queries);
    parts_.resize(std::max(parts_.size(), static_cast<size_t>(parts)));
    std::vector<int64_t>& offsets = to.pairs.offsets;
    to.pairs.first = first;
    offsets.assign(static_cast<size_t>(queries) + 1, 0);
    const auto for_parts = [&](const auto& visit) {
      at::parallel_for(0, parts, 1, [&](int64_t from, int64_t until) {
        for (int64_t i = from; i < until; ++i) {
          visit(parts_[static_cast<size_t>(i)], queries * i / parts,
                queries * (i + 1) / parts);
        }
      });
    };
    for_parts([&](RelatedPart& part, int64_t begin, int64_t end) {
      part.shared.resize(static_cast<size_t>(items_));
      part.items.clear();
      part.apart.clear();
      for (int64_t q = begin; q < end; ++q) {
        const int64_t before = std::ssize(part.items);
        add_related(first + q, part);
        offsets[static_cast<size_t>(q) + 1] = std::ssize(part.items) - before;
      }
    });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    to.pairs.items.resize(static_cast<size_t>(offsets.back()));
    to.apart.resize(to.pairs.items.size());
    for_parts([&](const RelatedPart& part, int64_t begin, int64_t) {
      const int64_t at = offsets[static_cast<size_t>(begin)];
      std::copy(part.items.begin(), part.items.end(),
                to.pairs.items.begin() + at);
      std::copy(part.apart.begin(), part.apart.end(), to.apart.begin() + at);
    });
  }

  void distances(int64_t query, int64_t count, const double* apart,
                 const float* similarity, float* to) const override {
    const double farthest =
        sets_.farthest(together_.place[static_cast<size_t>(query)]);
    for (int64_t i = 0; i < count; ++i) {
      const double d = scaled_distance(similarity[i], farthest);
      to[i] = static_cast<float>((1 - lambda_) * apart[i] + lambda_ * d);
    }
  }

 private:
  void add_related(int64_t query, RelatedPart& part) const {
    const int64_t place = together_.place[static_cast<size_t>(query)];
    part.met.clear();
    for (const SparseEntry& own : sets_.expanded(place)) {
      for (const SparseEntry& other : lists_.row(own.at)) {
        double& sum = part.shared[static_cast<size_t>(other.at)];
        if (sum == 0) part.met.push_back(other.at);
        sum += std::min(own.value, other.value);
      }
    }
    sort_numbers(part.met, items_, part.room);
    const int64_t self =
        self_.defined() ? self_.data_ptr<int64_t>()[query] : -1;
    for (const int32_t item : part.met) {
      double& sum = part.shared[static_cast<size_t>(item)];
      if (item != self) {
        part.items.push_back(item);
        part.apart.push_back(1 - sum / (2 - sum));
      }
      sum = 0;
    }
  }

  Tensor self_;
  int64_t items_;
  double lambda_;
  Together together_;
  ReciprocalSets sets_;
  SparseRows lists_;
  std::vector<RelatedPart> parts_;
};

}  // namespace

void KReciprocalOptions::describe(OptionSet& set) {
  set.add("k1", k1, "Neighbours among which mutual ones are looked for.")
      .range(1, 10'000);
  set.add("k2", k2,
          "The vectors of so many nearest items, the item itself among them, "
          "are averaged; 1: none. At most k1 + 1.")
      .range(1, 10'001);
  set.add("lambda", lambda,
          "Share of the original distance; the rest is of the Jaccard "
          "distance.")
      .range(0, 1);
  set.add("candidates", candidates,
          "So many of the items nearest to a query are ordered anew, among "
          "themselves and by their distances alone; 0: in an evaluation all "
          "items together, as published, in a search 200.")
      .range(0, 100'000);
}

KReciprocal::KReciprocal(const Options& options)
    : options_(checked(options, "k_reciprocal")) {
  if (options_.k2 > options_.k1 + 1) {
    throw ConfigError("'k_reciprocal.k2' is " + std::to_string(options_.k2) +
                      ", but an item and its k1 neighbours are only " +
                      std::to_string(options_.k1 + 1) + ": take a smaller k2");
  }
  if (options_.candidates > 0 && options_.candidates <= options_.k1) {
    throw ConfigError(
        "'k_reciprocal.candidates' is " + std::to_string(options_.candidates) +
        ": with k1 " + std::to_string(options_.k1) +
        " each would be a neighbour of all others; take more candidates, or a "
        "smaller k1");
  }
}

std::unique_ptr<ItemOrder> KReciprocal::order(const RerankSet& set) const {
  return std::make_unique<JaccardOrder>(set, options_);
}

KITH_REGISTER(reranker_registry(), "k_reciprocal", KReciprocal);

}  // namespace kith
