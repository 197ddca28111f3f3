#pragma once

#include "kith/ops/class_ops.h"
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

  RowSide(const Tensor& vectors, SortedSet sorted, bool normalize,
          bool euclidean);

  /// The gradient with respect to the vectors as given, in their order. Uses up
  /// x and dx.
  Tensor gradient();

  /// The virtual examples of a stretch, or all, as kernels take them.
  MixedItems items(const Stretch& part) const;
  MixedItems items() const { return items({0, set.examples, 0, set.items}); }
};

}  // namespace kith
