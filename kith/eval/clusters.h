#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

/// How two partitions of N items overlap: items by class and by cluster.
struct Contingency {
  struct Cell {
    int64_t class_index = 0;
    int64_t cluster_index = 0;
    int64_t count = 0;  ///< Positive.
  };

  int64_t items = 0;
  std::vector<int64_t> classes;   ///< Their sizes, all positive.
  std::vector<int64_t> clusters;  ///< Theirs.
  std::vector<Cell> cells;        ///< At most N.
};

/// [N] each, any values.
Contingency contingency(const std::vector<int64_t>& classes,
                        const std::vector<int64_t>& clusters);

/// 2 I / (H_clusters + H_classes); 1 if neither partition splits the items.
double normalized_mutual_information(const Contingency& table);

/// (I - E) / ((H_clusters + H_classes) / 2 - E), E the expectation of I over
/// all partitions with the same sizes (Vinh, Epps, Bailey, JMLR 2010). 1 for
/// equal partitions; 0 where every partition of these sizes has the same I.
double adjusted_mutual_information(const Contingency& table);

/// Harmonic mean of precision and recall of the pairs of items in one cluster
/// as pairs of one class; NaN if no two items share either.
double pair_f1(const Contingency& table);

/// Classes and clusters of the items: the clusters that are given, or k-means
/// with as many clusters as classes. Computed once for a set. DataError if
/// there are not as many given clusters as items.
const Contingency& clustering(const ScoredSet& set);

}  // namespace kith
