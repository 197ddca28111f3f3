#pragma once

#include <array>

#include "kith/core/rng.h"
#include "kith/image/box.h"
#include "kith/image/image.h"

namespace kith {

/// The pixels of a picture within a box; black where the box lies outside.
Image crop(const Image& image, const Box& box);

/// The box of this size in the middle of a picture, as torchvision's CenterCrop
/// rounds: an odd margin's half goes to the even neighbour. Where the picture
/// is smaller the box sticks out, by one pixel more at the right and bottom if
/// need be.
Box centre_box(int image_width, int image_height, int width, int height);

struct RandomBoxRange {
  std::array<double, 2> scale = {0.08, 1.0};             ///< Share of the area.
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};  ///< Width / height.
};

/// A box within a picture, drawn as by torchvision's RandomResizedCrop: ten
/// tries at an area and an aspect ratio (uniform in its logarithm) that fit the
/// picture, else the largest box in the centre whose ratio is allowed.
Box random_box(int width, int height, const RandomBoxRange& range, Rng& rng);

}  // namespace kith
