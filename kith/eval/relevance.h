#pragma once

#include <span>
#include <vector>

#include "kith/eval/scored.h"
#include "kith/index/ranks.h"

namespace kith {

/// Which gallery items answer which query: by labels, or by lists.
class Relevance {
 public:
  /// Keeps references to the labels and lists, which must outlive it.
  explicit Relevance(const Scored& scored);

  int64_t queries() const { return queries_; }
  int64_t gallery() const { return gallery_; }
  /// [Q] gallery position of each query; undefined if none is there.
  const Tensor& self() const { return self_; }
  bool self_excluded() const;

  int64_t positives(int64_t query) const;
  int64_t junk(int64_t query) const;
  /// Items that the query is ranked against: without itself and its junk.
  int64_t candidates(int64_t query) const;
  /// The class's size in the gallery with the query counted if it is there.
  int64_t class_size(int64_t query) const;

  /// Appends the query's positives, then its junk, as gallery positions.
  void append_items(int64_t query, std::vector<int64_t>& items) const;

 private:
  int64_t own(int64_t query) const;
  std::span<const int64_t> members(int64_t query) const;
  bool is_own_positive(int64_t query) const;

  const RelevanceLists& lists_;
  Tensor query_labels_;
  Tensor gallery_labels_;
  Tensor self_;
  const int64_t* own_ = nullptr;  ///< [Q] self_'s; null: undefined.
  int64_t queries_ = 0;
  int64_t gallery_ = 0;
  std::vector<int64_t> order_;  ///< Gallery positions, class after class.
  /// [Q] Of each query's label, in rising order.
  std::vector<std::span<const int64_t>> members_;
};

/// Positives and junk of queries from `first` on: at most `most_queries` of
/// them, and as many pairs as can be ranked within `bytes`.
RankedPairs next_pairs(const Relevance& relevance, int64_t first,
                       int64_t most_queries, int64_t bytes);

}  // namespace kith
