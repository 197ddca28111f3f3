#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kith {

/// An 8-bit picture in memory: rows from the top, channels interleaved
/// (grey: 1, RGB: 3), no padding. pixels.size() == width * height * channels.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<uint8_t> pixels;

  Image() = default;
  Image(int w, int h, int c)
      : width(w),
        height(h),
        channels(c),
        pixels(static_cast<size_t>(w) * static_cast<size_t>(h) *
               static_cast<size_t>(c)) {}

  uint8_t* row(int y) {
    return pixels.data() +
           static_cast<size_t>(y) * static_cast<size_t>(width * channels);
  }
  const uint8_t* row(int y) const {
    return pixels.data() +
           static_cast<size_t>(y) * static_cast<size_t>(width * channels);
  }
};

}  // namespace kith
