#pragma once

#include <memory>
#include <vector>

#include "kith/index/ranks.h"
#include "kith/index/reranker.h"

namespace kith {

/// A set as steps of re-ranking leave it: with other vectors, in another order,
/// or both.
class Reranked {
 public:
  /// Does what is done once for all queries. ConfigError if a step wants more
  /// neighbours than there are. Ranks of a divided gallery (shared_rows.h) call
  /// everything together and get the same; one that they share must be in the
  /// memory of each.
  Reranked(const RerankSteps& steps, RerankSet set);

  /// The places of items, as exact_ranks() gives them, in the new order.
  std::vector<int64_t> ranks(const RankedPairs& pairs) const;

 private:
  struct RelatedOrder;

  std::vector<int64_t> ranks_among_all(const RankedPairs& pairs) const;
  /// Of the queries [first, last): puts in the place of wanted items, with
  /// their similarities, where items that are not related end that come before
  /// one, and finds how many more items come before it than before this border.
  void find_borders(int64_t first, int64_t last, RelatedOrder& room,
                    RankedPairs& borders, std::vector<int64_t>& more) const;
  /// exact_ranks() of them; queries without items before any are left out.
  std::vector<int64_t> ranks_of_borders(const RankedPairs& borders) const;
  std::vector<int64_t> ranks_of_candidates(const RankedPairs& pairs) const;

  RerankSteps steps_;
  RerankSet set_;
  const OrderReranker* last_;
  std::unique_ptr<ItemOrder> order_;  ///< Of all items; null: there is none.
};

/// The new places of a query's candidates, the nearest first: which of them
/// comes first, second, ... query [1, D], candidates [n, D] and their
/// similarities, falling. Of no more than `part` has neighbours the order
/// stays.
std::vector<int64_t> candidate_order(const OrderReranker& part,
                                     const Tensor& query,
                                     const Tensor& candidates,
                                     const float* similarities);

}  // namespace kith
