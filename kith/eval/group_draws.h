#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/eval/scored.h"

namespace kith {

/// Classes, or groups of neighbouring ones where there are many, which a
/// bootstrap draws as a whole: images of a class are alike, so that their pairs
/// and searches are not independent, and what a threshold meets later is other
/// classes.
struct ClassGroups {
  std::vector<int64_t> of_query;  ///< [Q] in [0, groups).
  std::vector<int64_t> of_item;   ///< [N] of the gallery.
  int64_t groups = 0;
  int64_t classes = 0;  ///< Of queries and gallery together.
};

/// At most `most` groups, of classes whose labels follow each other.
ClassGroups group_classes(const Tensor& query_labels,
                          const Tensor& gallery_labels, int64_t most = 128);

/// [resamples, groups] double: how often each group is drawn when as many as
/// there are are drawn with replacement. Depends on the seed alone.
Tensor group_draws(int64_t groups, int64_t resamples, uint64_t seed);

}  // namespace kith
