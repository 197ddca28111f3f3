#include "kith/image/composite.h"

#include <cstddef>

namespace kith {

Image composite_on_white(const std::vector<uint8_t>& pixels, int width,
                         int height, int channels) {
  const int colors = channels - 1;
  Image image(width, height, colors);
  const uint8_t* from = pixels.data();
  uint8_t* to = image.pixels.data();
  for (size_t i = 0; i < pixels.size(); i += static_cast<size_t>(channels)) {
    const int alpha = from[colors];
    for (int c = 0; c < colors; ++c) {
      const int value = from[c] * alpha + 255 * (255 - alpha);
      to[c] = static_cast<uint8_t>((value + 127) / 255);
    }
    from += channels;
    to += colors;
  }
  return image;
}

}  // namespace kith
