#include "kith/image/rotate.h"

#include <algorithm>

namespace kith {

Image rotate90(const Image& image, int quarter_turns) {
  const int turns = (quarter_turns % 4 + 4) % 4;
  if (turns == 0) return image;
  const bool swaps = turns % 2 == 1;
  Image result(swaps ? image.height : image.width,
               swaps ? image.width : image.height, image.channels);
  const int right = image.width - 1;
  const int bottom = image.height - 1;
  for (int y = 0; y < result.height; ++y) {
    uint8_t* out = result.row(y);
    for (int x = 0; x < result.width; ++x) {
      const int column = turns == 1 ? right - y : turns == 2 ? right - x : y;
      const int row = turns == 1 ? x : turns == 2 ? bottom - y : bottom - x;
      std::copy_n(image.row(row) + column * image.channels, image.channels,
                  out);
      out += image.channels;
    }
  }
  return result;
}

}  // namespace kith
