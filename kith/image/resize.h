#pragma once

#include <string>

#include "kith/image/crop.h"
#include "kith/image/image.h"
#include "kith/image/resize_kernels.h"

namespace kith {

enum class Filter {
  kBilinear,  ///< Triangle of support 1.
  kBicubic,   ///< Keys cubic, a = -0.5, support 2.
};

/// The filter of an option: "bilinear" or "bicubic" (asserted).
Filter filter_named(const std::string& name);

/// The image (grey or RGB) at another size. Antialiased: when
/// shrinking, the filter widens with the factor, so every source pixel counts.
/// The weights, the order of the passes (rows, then columns) and the rounding
/// are those of Pillow's Image.resize. The same size gives the same pixels.
/// A source without pixels, or a target below 1 x 1 or beyond the size that is
/// decoded (see DecodeLimits), throws DataError.
Image resize(const Image& image, int width, int height,
             Filter filter = Filter::kBilinear);

/// The same as resize(crop(image, source), width, height), without the copy.
/// The box lies within the image (asserted).
Image resize_box(const Image& image, const Box& source, int width, int height,
                 Filter filter = Filter::kBilinear);

/// The same as crop(resize(image, width, height), window), but pixels outside
/// the window are never computed and do not count as size. The window lies
/// within width x height (asserted).
Image resize_window(const Image& image, int width, int height,
                    const Box& window, Filter filter = Filter::kBilinear);

struct Size {
  int width = 0;
  int height = 0;
};

/// The weights by which resize_window() makes a picture of a size: of its
/// columns first, for the rows that are needed, then of its rows. A side that
/// stays as it is has the weight of one pixel, which changes nothing.
struct WindowWeights {
  ResizeWeights across;
  ResizeWeights down;
};
WindowWeights window_weights(const Size& from, const Size& to,
                             const Box& window, Filter filter);

/// The size with the same aspect ratio whose short side is `side`; the long
/// side is rounded down (as torchvision's Resize does). DataError if there is
/// no such size.
Size size_with_short_side(const Size& size, int side);
inline Size size_with_short_side(const Image& image, int side) {
  return size_with_short_side(Size{image.width, image.height}, side);
}

}  // namespace kith
