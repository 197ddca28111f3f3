#pragma once

#include <cstdint>

#include "kith/image/image.h"

namespace kith {

/// The generated data set `glyphs`: every class is a random character of two
/// to four curved strokes, every image that character written by another hand.
/// Classes below kGlyphTrainClasses are for training, the others for testing.
inline constexpr int kGlyphSize = 64;
inline constexpr int64_t kGlyphClasses = 400;
inline constexpr int64_t kGlyphTrainClasses = 200;
inline constexpr int64_t kGlyphImages = 20;  ///< Images of one class.

/// One image: kGlyphSize square, grey, dark ink on light paper. A pure function
/// of its arguments, in integers only: the same pixels on every machine. Ids
/// are not bounded by the default numbers above.
Image draw_glyph(uint64_t seed, int64_t class_id, int64_t image_id);

}  // namespace kith
