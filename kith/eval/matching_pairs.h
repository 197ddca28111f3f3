#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/rng.h"
#include "kith/core/tensor.h"
#include "kith/data/image_list.h"

namespace kith {

/// Images of a list, and which of them show the same thing.
struct MatchingPairs {
  std::vector<int64_t> images;  ///< Positions in the list, rising.
  Tensor rows;  ///< [P, 2] int64, places in `images`; the query first.
};

/// Pairs of candidates that match: those that the data set names
/// (ImageList::pairs) if it names any, or else each image with another one of
/// its class, so that each is once the first and once the second of a pair.
/// They are drawn until there are `most_images` images. DataError if no two
/// candidates match.
MatchingPairs draw_matching_pairs(const ImageList& list,
                                  const std::vector<int64_t>& candidates,
                                  int64_t most_images, Rng& rng);

}  // namespace kith
