#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "kith/image/image.h"

namespace kith {

/// The orientation (1..8) in the body of a JPEG APP1 segment, which starts with
/// "Exif\0\0". 1, upright, if the segment has none or is malformed: a camera's
/// broken metadata must not make a good picture unusable.
int exif_orientation(std::span<const uint8_t> app1);

/// Turns a picture stored with this EXIF orientation upright. 5..8 swap width
/// and height. Asserts 1 <= orientation <= 8.
Image apply_orientation(Image image, int orientation);

/// The image turned by quarter_turns x 90 degrees counterclockwise, exactly.
/// Any integer: -1 is a turn clockwise. Odd turns swap width and height.
Image rotate90(const Image& image, int quarter_turns);

/// A picture as it lies in a file, which is where published boxes count their
/// pixels: those who drew them had programs that know nothing of EXIF.
struct StoredImage {
  // Not explicit: most pictures need no turn.
  StoredImage(Image image, int turn = 1)
      : pixels(std::move(image)), orientation(turn) {}

  Image upright() && {
    return apply_orientation(std::move(pixels), orientation);
  }

  Image pixels;
  int orientation;  ///< 1..8, for apply_orientation().
};

}  // namespace kith
