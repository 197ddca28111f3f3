#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

inline Image flat_picture(int width, int height, int channels, int value) {
  Image image(width, height, channels);
  std::fill(image.pixels.begin(), image.pixels.end(),
            static_cast<uint8_t>(value));
  return image;
}

inline Image noise_picture(int width, int height, int channels) {
  Image image(width, height, channels);
  Rng rng(5, Stream::kReport);
  for (uint8_t& pixel : image.pixels) {
    pixel = static_cast<uint8_t>(rng.below(256));
  }
  return image;
}

/// Grey, each pixel `step` times its column (or its row).
inline Image ramp_picture(int width, int height, int step, bool down = false) {
  Image image(width, height, 1);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(step * (down ? y : x));
    }
  }
  return image;
}

/// Every pixel unlike its neighbours.
inline Image pattern_picture(int width, int height, int channels) {
  Image image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>((i * 37 + i * i * 11) % 256);
  }
  return image;
}

}  // namespace kith
