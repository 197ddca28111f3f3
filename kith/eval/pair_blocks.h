#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

// The pairs of a set, for whatever counts them: those of a query and a gallery
// item, a query's own item left out; each pair once if items are searched among
// themselves. Similarities are products in double, rounded to float32.

/// Pairs of queries from `first_query` on with items from `first_item` on.
struct PairBlock {
  Tensor similarities;  ///< [q, n] float32 on the CPU.
  int64_t first_query = 0;
  int64_t first_item = 0;
};

struct Pair {
  float similarity = 0;
  bool is_positive = false;  ///< Of one class.
  int64_t query = 0;
  int64_t item = 0;
};

/// Calls visit(block) for blocks that hold all pairs, which ranks take in
/// turns. Among themselves, blocks below the diagonal are left out.
void for_each_pair_block(const ScoredSet& set,
                         const std::function<void(const PairBlock&)>& visit);

/// Tells the pairs of a block, and of what kind they are.
class PairRows {
 public:
  /// DataError if the items have no labels.
  explicit PairRows(const ScoredSet& set);

  /// Calls visit(pair) for the pairs of one row of a block.
  template <class Visit>
  void visit(const PairBlock& block, int64_t row, const Visit& visit) const {
    const int64_t columns = block.similarities.size(1);
    const float* values = block.similarities.data_ptr<float>() + row * columns;
    const int64_t query = block.first_query + row;
    const int64_t label = query_labels_[static_cast<size_t>(query)];
    const int64_t* labels = gallery_labels_.data() + block.first_item;
    const int64_t skip =
        self_.defined() ? self_.data_ptr<int64_t>()[query] - block.first_item
                        : -1;
    const int64_t first =
        among_themselves_ ? std::max<int64_t>(query + 1 - block.first_item, 0)
                          : 0;
    for (int64_t j = first; j < columns; ++j) {
      if (j == skip) continue;
      visit(Pair{values[j], labels[j] == label, query, block.first_item + j});
    }
  }

 private:
  std::vector<int64_t> query_labels_;
  std::vector<int64_t> gallery_labels_;
  Tensor self_;
  bool among_themselves_;
};

/// Adds what the others have counted; nothing for a rank that is alone.
void add_counts_of_others(Communicator* ranks, std::vector<int64_t>& counts);

}  // namespace kith
