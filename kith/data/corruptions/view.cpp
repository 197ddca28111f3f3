#include <algorithm>
#include <cmath>

#include "kith/data/corruptions.h"
#include "kith/data/range_option.h"
#include "kith/image/warp.h"

namespace kith {
namespace {

/// How far a corner moves, as a share of the side.
double corner_move(double scale, Rng& rng) {
  constexpr double kMost = 0.3;
  return std::min(std::abs(scale * rng.normal()), kMost);
}

}  // namespace

void PerspectiveOptions::describe(OptionSet& set) {
  set.add("scale", scale,
          "Least and most deviation of the corners, as a share of the side.")
      .range(0, 1);
}

PerspectiveCorruption::PerspectiveCorruption(Options options)
    : scale_(range_of(checked(std::move(options), "perspective").scale,
                      "perspective", "scale")) {}

Image PerspectiveCorruption::apply(const Image& image, Rng& rng) const {
  const double scale = rng.uniform(scale_[0], scale_[1]);
  const double width = image.width;
  const double height = image.height;
  std::array<Corner, 4> corners = {
      Corner{0.0, 0.0}, {width, 0.0}, {width, height}, {0.0, height}};
  for (Corner& corner : corners) {
    const double dx = corner_move(scale, rng) * width;
    const double dy = corner_move(scale, rng) * height;
    corner.x += corner.x == 0.0 ? dx : -dx;
    corner.y += corner.y == 0.0 ? dy : -dy;
  }
  return warp_mirrored(image, rectangle_to(corners, image.width, image.height));
}

void RotationOptions::describe(OptionSet& set) {
  set.add("max_degrees", max_degrees, "Up to this angle, either way.")
      .range(0, 180);
}

RotationCorruption::RotationCorruption(Options options)
    : options_(checked(std::move(options), "rotation")) {}

Image RotationCorruption::apply(const Image& image, Rng& rng) const {
  const double degrees =
      rng.uniform(-options_.max_degrees, options_.max_degrees);
  return warp_mirrored(image, rotation(degrees, image.width, image.height));
}

KITH_REGISTER(corruption_registry(), "perspective", PerspectiveCorruption);
KITH_REGISTER(corruption_registry(), "rotation", RotationCorruption);

}  // namespace kith
