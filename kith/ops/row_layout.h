#pragma once

#include <vector>

#include "kith/core/tensor.h"
#include "kith/ops/mixed_pairs.h"
#include "kith/ops/upload.h"

namespace kith {

/// A set of examples sorted by label, so that a class is one range. Its items
/// are the examples and, with SiMix, the virtual ones of a class behind them.
struct SortedSet {
  Tensor order;   ///< [N] int64: where in the batch the n-th example stands
  Tensor labels;  ///< [items] int64, ascending (none from sort_batch())
  int64_t examples = 0;
  int64_t items = 0;

  /// With SiMix only: an item is alpha x_i + (1 - alpha) x_j of the sorted
  /// examples i and j, which for an example are the same.
  Tensor first_parent;   ///< [items] int64
  Tensor second_parent;  ///< [items] int64
  Tensor alpha;          ///< [items] float64
  /// For each example, the items that it is in: items and shares
  /// [child_start[n], child_start[n + 1]).
  Tensor child_start;  ///< [N + 1] int64
  Tensor children;     ///< [N + 2 V] int64
  Tensor child_share;  ///< [N + 2 V] float64

  /// Where each class ends among the examples and among the items.
  struct ClassEnd {
    int64_t example = 0;
    int64_t item = 0;
  };
  std::vector<ClassEnd> classes;

  bool mixed() const { return alpha.defined(); }
};

/// Sorts a set. Examples of a class stay in the order they have.
SortedSet sort_by_label(const Tensor& labels);

/// For each row, the range of columns with its label, and where its slots
/// start if each such pair has one.
struct ClassRanges {
  Tensor first;  ///< [rows] int64
  Tensor last;   ///< [rows] int64, one past the end
  Tensor slot;   ///< [rows] int64
  int64_t slots = 0;
  int64_t largest = 0;  ///< Columns of the largest range.
  int64_t alone = 0;    ///< Rows with one column.
};
ClassRanges class_ranges(const Tensor& row_labels, const Tensor& column_labels);

/// A batch that is its own database: sorted, with the ranges of its items, and
/// with SiMix those of its examples.
struct SortedBatch {
  SortedSet set;
  ClassRanges ranges;  ///< Its counts are there after finish().
  ClassRanges example_ranges;
  Download facts;  ///< Slots, largest class, classes of one; may be none.

  /// Waits for a GPU that has sorted.
  void finish();
};
SortedBatch sort_batch(const Tensor& labels, const MixedPairs& mixed);

/// A stretch of a sorted set: examples [begin, end), items [item_begin,
/// item_end).
struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t item_begin = 0;
  int64_t item_end = 0;
};

/// Cuts a set into stretches of at most `length` examples; with virtual
/// examples only between classes, so that parents and children stay together,
/// and a class longer than that is a stretch of its own.
std::vector<Stretch> cut(const SortedSet& set, int64_t length);

/// The same of a stretch of a set.
std::vector<Stretch> cut(const SortedSet& set, const Stretch& part,
                         int64_t length);

/// Lane `lane` of `lanes` of a set, which are about equally long; with virtual
/// examples cut between classes, so that some may be empty.
Stretch cut_lane(const SortedSet& set, int64_t lane, int64_t lanes);

}  // namespace kith
