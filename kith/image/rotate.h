#pragma once

#include "kith/image/image.h"

namespace kith {

/// The image turned by quarter_turns x 90 degrees counterclockwise, exactly.
/// Any integer: -1 is a turn clockwise. Odd turns swap width and height.
Image rotate90(const Image& image, int quarter_turns);

}  // namespace kith
