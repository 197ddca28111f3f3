#pragma once

#include <any>
#include <memory>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/index/rows.h"

namespace kith {

class Communicator;

/// Which gallery items answer each query, where lists say so and not labels.
struct RelevanceLists {
  std::vector<std::vector<int64_t>> positives;  ///< [Q] gallery positions.
  std::vector<std::vector<int64_t>> junk;       ///< Left out of the ranking.

  bool empty() const { return positives.empty(); }
};

/// Embeddings to be scored. Without a gallery of its own, every query is
/// searched among the others, itself excluded by position.
struct Scored {
  Rows queries;           ///< [Q, D] unit vectors.
  Tensor query_labels;    ///< [Q] int64
  Rows gallery;           ///< [N, D]; undefined: the queries themselves.
  Tensor gallery_labels;  ///< [N]
  /// [Q] gallery position of the query itself, -1 if it is not there;
  /// undefined: none is, or (without a gallery) its own position.
  Tensor self;
  RelevanceLists lists = {};  ///< Instead of labels, unless empty.
};

/// The same with its numbers contiguous on the CPU. c10::ValueError if they are
/// not int64, one for each query or item, or if a place is not in the gallery;
/// DataError names the first query or item in memory that cannot be compared:
/// see longest_row. Rows of a file are checked when they are read.
Scored checked_scored(Scored scored);

/// The same items, of which each rank compares its part.
Scored divided_scored(Scored scored, Communicator& ranks);

/// What several metrics of one set have in common (a clustering, singular
/// values), computed by the first of them that asks. One value of each type;
/// for one thread.
class SetCache {
 public:
  /// The value of type T: `make()` the first time.
  template <class T, class Make>
  const T& get(const Make& make) {
    const std::type_index key(typeid(T));
    auto found = values_.find(key);
    if (found == values_.end()) {
      found =
          values_.emplace(key, std::any(std::in_place_type<T>, make())).first;
    }
    return *std::any_cast<T>(&found->second);
  }

 private:
  std::unordered_map<std::type_index, std::any> values_;
};

/// What metrics of all embeddings together see. Labels are int64 on the CPU;
/// blocks of rows are on the rows' device. Rows that ranks share
/// (shared_rows.h) are in no one's memory as a whole: all ranks read the same
/// blocks in the same order.
struct ScoredSet {
  Rows gallery;             ///< [N, D] unit vectors: the items.
  Tensor gallery_labels;    ///< [N]
  Rows queries;             ///< [Q, D]; the same rows among themselves.
  Tensor query_labels;      ///< [Q]
  Tensor self;              ///< [Q] as in Scored; undefined: no query is there.
  Tensor clusters;          ///< [N] int64 given by the user; may be undefined.
  uint64_t seed = 0;        ///< For clustering.
  int64_t memory_mb = 512;  ///< For blocks.
  /// Who computes the same metrics of the same set at the same time, and may
  /// divide the work; null: nobody else.
  Communicator* ranks = nullptr;
  /// What metrics of this set have computed; copies share it, so a set is not
  /// changed once a metric has seen it.
  std::shared_ptr<SetCache> cache = std::make_shared<SetCache>();
};

}  // namespace kith
