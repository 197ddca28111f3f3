#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "kith/data/corruption.h"

namespace kith {

/// The corruption that one line of YAML describes: "{name: jpeg}".
inline std::unique_ptr<Corruption> corruption(const std::string& yaml) {
  return corruption_registry().make(parse_config(yaml, "r.yaml"), "corruption");
}

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

}  // namespace kith
