#pragma once

#include <cstdint>
#include <string>

#include "kith/data/loader.h"

namespace kith {

/// What took how long while images were embedded; calls add up.
struct EmbedTimes {
  int64_t images = 0;  ///< Of all ranks.
  double seconds = 0;  ///< From the first image to the last embedding.
  double waiting = 0;  ///< Of them for pictures that were not decoded yet,
  double copying = 0;  ///< for copies of pictures to a GPU,
  double writing = 0;  ///< and until embeddings were written.
  double first = 0;    ///< Of `waiting`: for the very first batch.

  /// What the time goes to: "decoding" if most of it was waited for pictures,
  /// "copies to the GPU" or "writing" if for those, else "the network".
  std::string bound() const;
  /// "8122 images in 3.1 s, 2620 images/s; bound by the network (2% of the
  /// time waiting for pictures, 1% for copies to the GPU)"
  std::string text() const;
  /// "first pictures 0.012, other pictures 0.061, copies 0.005, network 2.981,
  /// writing 0.023": seconds, which add up to `seconds`.
  std::string parts() const;
};

/// The loader's next batch; `times`, unless it is null, gets the wait for it.
Batch next_batch(Loader& loader, EmbedTimes* times);

}  // namespace kith
