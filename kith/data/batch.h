#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kith/image/image.h"

namespace kith {

/// Pictures of one size in one piece of memory, ready for a tensor. No two
/// are of the same position.
struct BatchPart {
  std::vector<int64_t> positions;  ///< In the batch, rising.
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::shared_ptr<uint8_t[]> pixels;  ///< [count, height, width, channels]

  int64_t count() const { return static_cast<int64_t>(positions.size()); }
  size_t bytes() const {
    return static_cast<size_t>(count() * height * width * channels);
  }
};

/// The pictures of some images. If all have one size they are one part, in the
/// order of the batch.
struct Batch {
  std::vector<int64_t> indices;  ///< Positions in the data set's list.
  std::vector<BatchPart> parts;

  int64_t count() const { return static_cast<int64_t>(indices.size()); }
};

/// Gives memory for this number of bytes of pixels.
using PixelMemory = std::function<std::shared_ptr<uint8_t[]>(size_t)>;

/// A part for pictures of the size of `like`, not filled.
BatchPart make_part(std::vector<int64_t> positions, const Image& like,
                    const PixelMemory& allocate);

/// The parts of a batch with some pictures at each position, which are taken
/// out. Those of one size make a part, but for pictures of the same position:
/// only the first ones go together, only the second ones, and so on. Parts come
/// by rising number, height, width and channels.
std::vector<BatchPart> join_pictures(std::vector<std::vector<Image>>& pictures,
                                     const PixelMemory& allocate);

}  // namespace kith
