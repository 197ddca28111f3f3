#pragma once

#include <string>
#include <string_view>

#include "kith/image/decode.h"
#include "kith/image/image.h"
#include "tests/support/pictures.h"

namespace kith {

/// Decodes a picture of any format, of up to 256 x 256 pixels.
inline void read_picture(std::string_view bytes) {
  DecodeLimits limits;
  limits.max_pixels = 1 << 16;
  limits.max_side = 2048;
  decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
               "a picture", limits);
}

inline std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace kith
