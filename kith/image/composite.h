#pragma once

#include <cstdint>
#include <vector>

#include "kith/image/image.h"

namespace kith {

/// Pixels whose last channel is how opaque they are (0 to 255), on white, with
/// rounding. `channels` is 2 (grey) or 4; the image has one less.
Image composite_on_white(const std::vector<uint8_t>& pixels, int width,
                         int height, int channels);

}  // namespace kith
