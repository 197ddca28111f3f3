#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

/// A rectangle of pixels, counted from 0 at the left and the top: columns
/// [left, right), rows [top, bottom). It may reach beyond the picture.
struct Box {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;

  bool empty() const { return right <= left || bottom <= top; }
};

/// "columns 3 to 9, rows 0 to 4": what the box covers, last ones included.
std::string describe(const Box& box);

/// The pixels of a picture within a box; black where the box lies outside.
Image crop(const Image& image, const Box& box);

/// The part of the picture inside the box, which is clamped to the picture.
/// DataError that starts with `where` if nothing remains.
Image crop_to_box(const Image& image, const Box& box, const std::string& where);

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
