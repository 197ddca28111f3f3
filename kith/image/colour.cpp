#include "kith/image/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kith/core/error.h"

namespace kith {
namespace {

// 0.299 R + 0.587 G + 0.114 B in 16-bit fixed point, rounded (as Pillow).
uint8_t grey_of(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

// Pillow's Image.blend: in single precision, and cut off, not rounded.
uint8_t mix(int dull, int value, float factor) {
  const float mixed =
      static_cast<float>(dull) + factor * static_cast<float>(value - dull);
  return static_cast<uint8_t>(std::clamp(mixed, 0.0F, 255.0F));
}

void mix_with(Image& image, int dull, double factor) {
  std::array<uint8_t, 256> table{};
  for (int value = 0; value < 256; ++value) {
    table[static_cast<size_t>(value)] =
        mix(dull, value, static_cast<float>(factor));
  }
  for (uint8_t& pixel : image.pixels) pixel = table[pixel];
}

// The mean of the grey picture, rounded.
int mean_grey(const Image& image) {
  const size_t count =
      image.pixels.size() / static_cast<size_t>(image.channels);
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum +=
        image.channels == 1 ? image.pixels[i] : grey_of(&image.pixels[3 * i]);
  }
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  return static_cast<int>(std::floor(mean + 0.5));
}

struct Hsv {
  int hue;  // 255 is a full turn
  int saturation;
  int value;
};

// The mixture of float and double is Pillow's, so that cutting off to integers
// gives the same.
Hsv to_hsv(const uint8_t* rgb) {
  const int high = std::max({rgb[0], rgb[1], rgb[2]});
  const int low = std::min({rgb[0], rgb[1], rgb[2]});
  if (high == low) return {0, 0, high};
  const auto range = static_cast<float>(high - low);
  const auto below = [&](int c) {
    return static_cast<float>(high - rgb[c]) / range;
  };
  float sixths = 0.0F;
  if (rgb[0] == high) {
    sixths = below(2) - below(1);
  } else if (rgb[1] == high) {
    sixths = static_cast<float>(2.0 + below(0) - below(2));
  } else {
    sixths = static_cast<float>(4.0 + below(1) - below(0));
  }
  const double turns = sixths / 6.0 + 1.0;  // in (0, 2)
  const auto hue = static_cast<float>(turns < 1.0 ? turns : turns - 1.0);
  const float saturation = range / static_cast<float>(high);
  return {static_cast<int>(hue * 255.0), static_cast<int>(saturation * 255.0),
          high};
}

void to_rgb(const Hsv& hsv, uint8_t* rgb) {
  const auto saturation = static_cast<float>(hsv.saturation / 255.0);
  const double sixths = hsv.hue * 6.0 / 255.0;
  const int sector = static_cast<int>(sixths);
  const auto rest = static_cast<float>(sixths - sector);
  const auto level = [&](double dimmed) {
    // Never negative, so that this needs no call for each value.
    // NOLINTNEXTLINE(bugprone-incorrect-roundings)
    return static_cast<uint8_t>(hsv.value * (1.0 - dimmed) + 0.5);
  };
  const auto v = static_cast<uint8_t>(hsv.value);
  const uint8_t p = level(saturation);
  const uint8_t q = level(saturation * rest);
  const uint8_t t = level(saturation * (1.0 - rest));
  const uint8_t sectors[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                                 {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(sectors[sector % 6], 3, rgb);
}

}  // namespace

Image to_channels(const Image& image, int channels) {
  if (image.channels == channels) return image;
  Image result(image.width, image.height, channels);
  const size_t count =
      static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  const uint8_t* in = image.pixels.data();
  uint8_t* out = result.pixels.data();
  for (size_t i = 0; i < count; ++i) {
    if (channels == 3) {
      out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[i];
    } else {
      out[i] = grey_of(in + 3 * i);
    }
  }
  return result;
}

void adjust_brightness(Image& image, double factor) {
  mix_with(image, 0, factor);
}

void adjust_contrast(Image& image, double factor) {
  if (image.pixels.empty()) return;
  mix_with(image, mean_grey(image), factor);
}

void adjust_saturation(Image& image, double factor) {
  if (image.channels != 3) return;
  const auto share = static_cast<float>(factor);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    uint8_t* rgb = &image.pixels[i];
    const int grey = grey_of(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = mix(grey, rgb[c], share);
  }
}

void adjust_sharpness(Image& image, double factor) {
  const Image source = image;
  const int channels = image.channels;
  const auto share = static_cast<float>(factor);
  for (int y = 1; y + 1 < image.height; ++y) {
    const uint8_t* rows[3] = {source.row(y - 1), source.row(y),
                              source.row(y + 1)};
    uint8_t* out = image.row(y);
    for (int i = channels; i < (image.width - 1) * channels; ++i) {
      int sum = 4 * rows[1][i];
      for (const uint8_t* row : rows) {
        sum += row[i - channels] + row[i] + row[i + channels];
      }
      out[i] = mix((2 * sum + 13) / 26, rows[1][i], share);  // sum / 13
    }
  }
}

void adjust_hue(Image& image, double turns) {
  KITH_ASSERT(std::abs(turns) <= 0.5);
  if (image.channels != 3) return;
  const int shift = static_cast<int>(turns * 255.0);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    Hsv hsv = to_hsv(&image.pixels[i]);
    hsv.hue = (hsv.hue + shift) & 255;
    to_rgb(hsv, &image.pixels[i]);
  }
}

}  // namespace kith
