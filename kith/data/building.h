#pragma once

#include <array>
#include <cstdint>

#include "kith/core/rng.h"
#include "kith/image/box.h"
#include "kith/image/image.h"

namespace kith {

/// Red, green, blue: 0 to 255.
using Colour = std::array<int, 3>;

/// Each part uniform in [lo, hi].
Colour draw_colour(Rng& rng, int lo, int hi);

/// Shapes on a colour picture, cut off at its edges. Integers only.
class Painter {
 public:
  explicit Painter(Image& image) : image_(image) {}

  void box(const Box& box, const Colour& colour);

  /// What of the ellipse in a box lies above row `bottom`.
  void ellipse(const Box& box, int64_t bottom, const Colour& colour);

  /// The triangle on the lower edge of a box.
  void gable(const Box& box, const Colour& colour);

 private:
  void put(int64_t x, int64_t y, const Colour& colour);

  Image& image_;
};

/// The row of a scene at which buildings stand.
inline constexpr int64_t kGround = 224;

/// A generated building, for the data set `landmarks`.
struct Building {
  Box walls;
  Box roof;
  int64_t shape;  ///< Of the roof.
  int64_t columns, rows;
  int64_t gap;    ///< Between windows, in percent of their distance.
  int64_t arch;   ///< Height of the windows' arches, in percent.
  int64_t bands;  ///< Between the storeys.
  int64_t door;   ///< Column.
  Colour wall, trim, glass, tiles;
  std::array<Box, 3> ornaments;

  Box extent() const { return {walls.left, roof.top, walls.right, kGround}; }
};

/// A random one, its middle at column `centre`.
Building draw_plan(Rng& rng, int64_t centre);

void paint_building(Painter& painter, const Building& building);

}  // namespace kith
