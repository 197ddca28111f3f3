#pragma once

#include "kith/data/image.h"

namespace kith {

enum class Filter {
  kBilinear,  ///< Triangle of support 1.
  kBicubic,   ///< Keys cubic, a = -0.5, support 2.
};

/// The image (grey or RGB) at another size. Antialiased: when
/// shrinking, the filter widens with the factor, so every source pixel counts.
/// The weights, the order of the passes (rows, then columns) and the rounding
/// are those of Pillow's Image.resize. The same size gives the same pixels.
/// A source without pixels or a target below 1 x 1 throws DataError.
Image resize(const Image& image, int width, int height,
             Filter filter = Filter::kBilinear);

}  // namespace kith
