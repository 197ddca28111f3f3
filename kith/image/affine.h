#pragma once

#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

/// A plane map: x' = a x + b y + c, y' = d x + e y + f. Coordinates are in
/// pixels; pixel (column, row) has its centre at (column + 0.5, row + 0.5).
struct Affine {
  double a = 1.0, b = 0.0, c = 0.0;
  double d = 0.0, e = 1.0, f = 0.0;
};

/// What a warp shows where the source has no pixels.
enum class Edge {
  kFill,       ///< The given grey level, in every channel.
  kReplicate,  ///< The nearest pixel of the source.
};

/// The source seen through a map: the pixel at p of the result (same size) is
/// the source at inverse_map(p), with bilinear sampling. Near the edge kFill
/// blends with the fill. Does not antialias: meant for maps of about unit
/// scale. `fill` is a grey level, 0 to 255, and is ignored by kReplicate.
Image warp_affine(const Image& source, const Affine& inverse_map, int fill,
                  Edge edge = Edge::kFill);

/// The median of the outermost pixels, all channels together: the colour of
/// the paper, a fill that leaves no visible corners. 0 for an empty image.
int border_grey(const Image& image);

/// How far random_affine() may go; 0 switches a part off.
struct AffineRange {
  double degrees = 0.0;    ///< Rotation, either way.
  double scale = 0.0;      ///< Relative size: 0.2 is 0.8 to 1.2; below 1.
  double shear = 0.0;      ///< Horizontal slant in degrees, either way.
  double translate = 0.0;  ///< Fraction of width and of height, either way.
};

/// A random inverse map for warp_affine(): rotation, scale and shear about the
/// centre of a width x height image, then translation. Each part is uniform in
/// its range. Always takes five numbers from `rng`, so that switching one part
/// off leaves the others as they were.
Affine random_affine(Rng& rng, const AffineRange& range, int width, int height);

}  // namespace kith
