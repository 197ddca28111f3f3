#pragma once

#include <functional>
#include <memory>

#include "kith/ops/class_ops.h"
#include "kith/ops/row_engine.h"
#include "kith/ops/row_layout.h"

namespace kith {

/// Rows or columns of a walk: the sorted vectors and their gradient.
struct RowSide {
  SortedSet set;
  Tensor x;            ///< [N, D] sorted, normalised if asked
  Tensor scales;       ///< [N, 1] row_scales() before normalisation,
  Tensor norms;        ///< [N, 1] and the norms of what they left
  Tensor dx;           ///< [N, D]
  Tensor half_square;  ///< [N] |x|^2 / 2, if the loss is Euclidean
  Tensor half;         ///< [N, D] x in float16, if similarities are of that
  Tensor high;         ///< [N, D] x in bfloat16, if slopes are in that
  /// [N, 4 D] if products are split: high, what that lacks, high, high.
  Tensor split;

  RowSide(const Tensor& vectors, SortedSet sorted, bool normalize,
          bool euclidean);

  /// The gradient with respect to the vectors as given, in their order. Uses up
  /// x and dx.
  Tensor gradient();

  /// The same of some of the sorted ones, in the sorted order.
  Tensor sorted_gradient(int64_t begin, int64_t end);

  /// The virtual examples of a stretch, or all, as kernels take them.
  MixedItems items(const Stretch& part) const;
  MixedItems items() const { return items({0, set.examples, 0, set.items}); }
};

/// Both sides of a walk, and what is known of their labels.
struct RowSides {
  std::unique_ptr<RowSide> rows;
  std::unique_ptr<RowSide> columns;  ///< Null if the rows are the columns.
  ClassRanges ranges;                ///< Of the items.
  ClassRanges example_ranges;        ///< With virtual examples only.
  Tensor self;    ///< [R] as RowInput::self, sorted; null without columns
  Tensor target;  ///< [R] the same of RowInput::target
  int64_t without_positives = 0;
  bool euclidean = false;
  RowProducts products = RowProducts::kFloat32;  ///< As they are computed.

  /// Before it waits for what a GPU finds out about classes it calls `ahead`,
  /// which may use the rows, if they are their own columns.
  RowSides(const RowInput& input, bool is_euclidean, RowProducts how,
           const std::function<void(const RowSides&)>& ahead);

  RowSide& column_side() { return columns ? *columns : *rows; }
  const RowSide& column_side() const { return columns ? *columns : *rows; }

  /// S = X_I X_J^T, or what stands for distances, of two stretches of examples.
  void similarities(const Stretch& i, const Stretch& j, Tensor& s) const;

  /// Whether slopes are wanted in bfloat16.
  bool takes_bf16() const {
    return products == RowProducts::kFloat16 ||
           products == RowProducts::kBf16Split;
  }

  /// dX_I += W X_J and, unless the block is its own mirror image, dX_J +=
  /// W^T X_I. Blocks come row by row; without columns those on and above the
  /// diagonal. The first to write a stretch does not add.
  void add_gradient(const Tensor& w, const Stretch& i, const Stretch& j);

  /// dX_I += W X_J alone, of a walk over all columns of some rows.
  void add_row_gradient(const Tensor& w, const Stretch& i, const Stretch& j);
};

}  // namespace kith
