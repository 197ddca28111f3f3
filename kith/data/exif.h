#pragma once

#include <cstdint>
#include <span>

#include "kith/data/image.h"

namespace kith {

/// The orientation (1..8) in the body of a JPEG APP1 segment, which starts with
/// "Exif\0\0". 1, upright, if the segment has none or is malformed: a camera's
/// broken metadata must not make a good picture unusable.
int exif_orientation(std::span<const uint8_t> app1);

/// Turns a picture stored with this EXIF orientation upright. 5..8 swap width
/// and height. Asserts 1 <= orientation <= 8.
Image apply_orientation(Image image, int orientation);

}  // namespace kith
