#pragma once

#include <cstdint>
#include <vector>

#include "kith/distributed/communicator.h"

namespace kith {

/// What a rank embeds of images that are loaded in batches: whole batches,
/// neighbours, so that what a batch is made of does not depend on the number of
/// ranks, and the ranks' rows one after the other are those of all images.
struct ImageShare {
  std::vector<std::vector<int64_t>> batches;  ///< This rank's.
  std::vector<int64_t> images;                ///< Those in them.
  int64_t first = 0;        ///< Place of the first one among all images.
  int64_t all_batches = 0;  ///< Of all ranks.
  int64_t all_images = 0;

  int64_t count() const { return static_cast<int64_t>(images.size()); }
  /// Of all images, if the others are as far as this rank with `done` of its
  /// own.
  int64_t done_by_all(int64_t done) const {
    return count() == 0 ? all_images : done * all_images / count();
  }
};

/// Rank r has batches [n r / R, n (r + 1) / R). `batch` is what rank 0 says.
ImageShare image_share(const std::vector<int64_t>& indices, int64_t batch,
                       Communicator& ranks);

}  // namespace kith
