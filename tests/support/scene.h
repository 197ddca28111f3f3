#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

/// An RGB picture of overlapping discs on a gradient, as unlike the scene of
/// another seed as two photographs are.
inline Image draw_scene(int64_t seed, int width = 160, int height = 120) {
  Rng rng(3, Stream::kReport, {seed});
  Image image(width, height, 3);
  const double slope = rng.uniform(-100, 100);
  const double turn = rng.uniform(0, 2 * std::numbers::pi);
  struct Disc {
    double x, y, radius;
    std::array<double, 3> colour;
  };
  std::vector<Disc> discs;
  for (int i = 0; i < 12; ++i) {
    discs.push_back(
        {rng.uniform(),
         rng.uniform(),
         rng.uniform(0.05, 0.3),
         {rng.uniform(0, 255), rng.uniform(0, 255), rng.uniform(0, 255)}});
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = (x + 0.5) / width;
      const double v = (y + 0.5) / height;
      const double ground = 128 + slope * ((u - 0.5) * std::cos(turn) +
                                           (v - 0.5) * std::sin(turn));
      std::array<double, 3> colour = {ground, ground, ground};
      for (const Disc& disc : discs) {
        if (std::hypot(u - disc.x, v - disc.y) < disc.radius) {
          colour = disc.colour;
        }
      }
      for (size_t c = 0; c < 3; ++c) {
        image.row(y)[static_cast<size_t>(x) * 3 + c] =
            static_cast<uint8_t>(std::clamp(colour[c], 0.0, 255.0));
      }
    }
  }
  return image;
}

}  // namespace kith
