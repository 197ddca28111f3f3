#pragma once

#include <array>

#include "kith/image/image.h"

namespace kith {

struct Corner {
  double x = 0.0;
  double y = 0.0;
};

/// A plane map: x' = (a x + b y + c) / (g x + h y + 1), y' = (d x + e y + f) /
/// (g x + h y + 1). Coordinates are in pixels; pixel (column, row) has its
/// centre at (column + 0.5, row + 0.5).
struct Homography {
  double a = 1.0, b = 0.0, c = 0.0;
  double d = 0.0, e = 1.0, f = 0.0;
  double g = 0.0, h = 0.0;
};

/// The inverse map of a turn by `degrees`, counterclockwise, about the
/// centre of a width x height picture.
Homography rotation(double degrees, int width, int height);

/// The map of the rectangle [0, width] x [0, height] onto a convex
/// quadrilateral, whose corners are given from the top left clockwise.
Homography rectangle_to(const std::array<Corner, 4>& corners, int width,
                        int height);

/// The source seen through a map: the pixel at p of the result (same size) is
/// the source at inverse_map(p), with bilinear sampling. Beyond its edges the
/// source is continued by its mirror image, edge pixels included, again and
/// again. Does not antialias: meant for maps of about unit scale. The map must
/// be finite on the picture, as the two above are.
Image warp_mirrored(const Image& source, const Homography& inverse_map);

}  // namespace kith
