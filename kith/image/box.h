#pragma once

#include <cstdint>
#include <string>

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

/// The part of the picture inside the box, which is clamped to the picture.
/// DataError that starts with `where` if nothing remains.
Image crop_to_box(const Image& image, const Box& box, const std::string& where);

}  // namespace kith
