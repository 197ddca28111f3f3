#include "kith/data/batch.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "kith/core/error.h"

namespace kith {
namespace {

/// Number at its position, height, width, channels.
using Shape = std::array<int64_t, 4>;

std::map<Shape, std::vector<int64_t>> positions_by_shape(
    const std::vector<std::vector<Image>>& pictures) {
  std::map<Shape, std::vector<int64_t>> groups;
  for (size_t position = 0; position < pictures.size(); ++position) {
    for (size_t number = 0; number < pictures[position].size(); ++number) {
      const Image& image = pictures[position][number];
      groups[{static_cast<int64_t>(number), image.height, image.width,
              image.channels}]
          .push_back(static_cast<int64_t>(position));
    }
  }
  return groups;
}

}  // namespace

BatchPart make_part(std::vector<int64_t> positions, const Image& like,
                    const PixelMemory& allocate) {
  BatchPart part{std::move(positions), like.height, like.width, like.channels,
                 nullptr};
  part.pixels = allocate(part.bytes());
  KITH_ASSERT(part.pixels != nullptr);
  return part;
}

std::vector<BatchPart> join_pictures(std::vector<std::vector<Image>>& pictures,
                                     const PixelMemory& allocate) {
  std::vector<BatchPart> parts;
  for (auto& [shape, positions] : positions_by_shape(pictures)) {
    const auto number = static_cast<size_t>(shape[0]);
    const auto at = [&](int64_t position) -> Image& {
      return pictures[static_cast<size_t>(position)][number];
    };
    const int64_t first = positions.front();
    BatchPart part = make_part(std::move(positions), at(first), allocate);
    uint8_t* out = part.pixels.get();
    for (const int64_t position : part.positions) {
      // Freed once it is copied: memory never holds all of them twice.
      const Image image = std::move(at(position));
      out = std::copy(image.pixels.begin(), image.pixels.end(), out);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace kith
