// What kith makes of a picture against what Pillow and torchvision make of it
// (tests/golden/pil, made by make.py there). One grey level is allowed, for
// other processors and versions of libjpeg; on x86-64 all pixels are equal.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "kith/data/input.h"
#include "kith/image/colour.h"
#include "kith/image/decode.h"
#include "kith/image/resize.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

Image golden(const std::string& name) {
  return decode_image(golden_dir() + "/pil/" + name);
}

// The same as in make.py.
Image pillow_pattern(int width, int height, int channels) {
  Image image(width, height, channels);
  uint8_t* out = image.pixels.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int noise = ((x * 31 + y * 17 + c * 13) ^ (x * y)) % 23;
        *out++ = static_cast<uint8_t>(x * (3 + c) + y * (5 - c) +
                                      x * y / (7 + c) + noise);
      }
    }
  }
  return image;
}

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.channels, b.channels);
  if (a.pixels.size() != b.pixels.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return largest;
}

struct InputCase {
  std::string name;
  int width, height, channels;
  int64_t resize, size;
};

TEST(Pillow, ResizesToTheShortSideAndCutsTheCentre) {
  for (const InputCase& c : {InputCase{"down", 300, 200, 3, 72, 64},
                             InputCase{"odd", 300, 200, 1, 40, 33},
                             InputCase{"portrait", 47, 61, 3, 31, 24},
                             InputCase{"up", 61, 47, 3, 80, 56}}) {
    for (const std::string filter : {"bilinear", "bicubic"}) {
      InputOptions input;
      input.size = c.size;
      input.resize = c.resize;
      input.filter = filter;
      input.colour = c.channels == 1 ? "grey" : "rgb";
      Rng unused(0, Stream::kAugment);
      const Image image = prepare_image(
          pillow_pattern(c.width, c.height, c.channels), input, {}, unused);
      const std::string file = "input_" + c.name + "_" + filter + ".png";
      EXPECT_LE(largest_difference(image, golden(file)), 1) << file;
    }
  }
}

TEST(Pillow, CutsTheCentreWithABlackBorder) {
  const Image image =
      crop(pillow_pattern(61, 47, 3), centre_box(61, 47, 52, 52));
  EXPECT_LE(largest_difference(image, golden("center_crop.png")), 1);
}

struct BoxCase {
  std::string name;
  Image source;
  Box box;
  int size;
};

TEST(Pillow, ResizesABox) {
  for (const BoxCase& c :
       {BoxCase{"down", pillow_pattern(300, 200, 3), {37, 21, 188, 133}, 48},
        BoxCase{"up", pillow_pattern(300, 200, 3), {268, 177, 300, 200}, 48},
        BoxCase{"grey", pillow_pattern(61, 47, 1), {0, 5, 61, 35}, 40}}) {
    for (const std::string filter : {"bilinear", "bicubic"}) {
      const std::string file = "box_" + c.name + "_" + filter + ".png";
      const Image image =
          resize_box(c.source, c.box, c.size, c.size, filter_named(filter));
      EXPECT_LE(largest_difference(image, golden(file)), 1) << file;
    }
  }
}

struct ColourCase {
  std::string name;
  void (*adjust)(Image&, double);
  std::vector<double> amounts;
};

TEST(Pillow, ChangesColours) {
  for (const ColourCase& c :
       {ColourCase{"brightness", adjust_brightness, {0.6, 1.5}},
        ColourCase{"contrast", adjust_contrast, {0.5, 1.7}},
        ColourCase{"saturation", adjust_saturation, {0.3, 1.8}},
        ColourCase{"hue", adjust_hue, {0.1, -0.37, 0.5}}}) {
    for (size_t i = 0; i < c.amounts.size(); ++i) {
      const std::string file = c.name + "_" + std::to_string(i) + ".png";
      Image rgb = pillow_pattern(61, 47, 3);
      c.adjust(rgb, c.amounts[i]);
      EXPECT_LE(largest_difference(rgb, golden("rgb_" + file)), 1) << file;
      Image grey = pillow_pattern(61, 47, 1);
      c.adjust(grey, c.amounts[i]);
      const bool stays = c.name == "saturation" || c.name == "hue";
      const Image expected =
          stays ? pillow_pattern(61, 47, 1) : golden("grey_" + file);
      EXPECT_LE(largest_difference(grey, expected), 1) << file;
    }
  }
}

TEST(Pillow, DecodesJpeg) {
  for (const std::string name : {"420", "422", "444", "progressive", "grey"}) {
    EXPECT_LE(largest_difference(golden(name + ".jpg"),
                                 golden("jpeg_" + name + ".png")),
              1)
        << name;
  }
}

}  // namespace
}  // namespace kith
