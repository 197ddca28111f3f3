#pragma once

#include "kith/eval/scored.h"

namespace kith {

/// Cosine distances (1 - inner product of unit vectors) in a set of items.
struct ClassSpread {
  /// Mean over classes of two items or more of the mean over their pairs; NaN
  /// without such a class.
  double within = 0;
  /// Mean over pairs of classes of the distance of their normalised means; NaN
  /// with fewer than two classes.
  double between = 0;
};

/// Computed once for a set.
const ClassSpread& class_spread(const ScoredSet& set);

}  // namespace kith
