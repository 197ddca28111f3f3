#include "kith/image/resize.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"

namespace kith {
namespace {

// Fixed pseudo-random pixels; the expected values below are what Pillow 9.4
// (Image.resize) makes of the same pixels.
Image noise(int width, int height, int channels) {
  Image image(width, height, channels);
  auto state = static_cast<uint32_t>(width * 7919 + height * 104729 + channels);
  for (uint8_t& pixel : image.pixels) {
    state = state * 1664525U + 1013904223U;
    pixel = static_cast<uint8_t>(state >> 24);
  }
  return image;
}

// `expected` may stop early: then only the first pixels are compared.
void expect_within_one(const Image& image, const std::vector<int>& expected) {
  ASSERT_LE(expected.size(), image.pixels.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(std::abs(image.pixels[i] - expected[i]), 1) << "pixel " << i;
  }
}

int sum(const Image& image) {
  return std::accumulate(image.pixels.begin(), image.pixels.end(), 0);
}

TEST(Resize, ShrinksGreyBilinear) {
  const Image small = resize(noise(13, 9, 1), 5, 4);
  EXPECT_EQ(small.width, 5);
  EXPECT_EQ(small.height, 4);
  EXPECT_EQ(small.channels, 1);
  ASSERT_EQ(small.pixels.size(), 20U);
  expect_within_one(small, {152, 143, 131, 94, 86, 116, 121, 88,  105, 91,
                            127, 95,  95,  89, 82, 112, 142, 126, 98,  124});
}

TEST(Resize, ShrinksGreyBicubic) {
  expect_within_one(resize(noise(13, 9, 1), 5, 4, Filter::kBicubic),
                    {153, 144, 135, 91, 87, 114, 122, 82,  106, 87,
                     131, 88,  96,  89, 83, 107, 144, 133, 95,  127});
}

TEST(Resize, EnlargesBilinear) {
  const Image large = resize(noise(7, 7, 1), 16, 12);
  expect_within_one(large, {213, 202, 170, 142, 150, 158, 144, 123, 127, 154,
                            167, 124, 81,  149, 226, 253, 147, 141, 124, 111,
                            143, 174, 152, 114, 109, 134, 153, 141, 130, 153,
                            178, 187, 44,  47,  52,  62,  131, 199, 163, 100});
  EXPECT_NEAR(sum(large), 26871, 16);
}

TEST(Resize, EnlargesBicubicAndClips) {
  // Rows 3 and 4 hold the overshoot below 0, row 0 the one above 255.
  const Image large = resize(noise(7, 7, 1), 16, 12, Filter::kBicubic);
  expect_within_one(
      large, {234, 218, 179, 146, 149, 156, 141, 119, 127, 168, 175, 110, 66,
              141, 245, 255, 162, 151, 122, 107, 143, 180, 159, 109, 103, 141,
              162, 144, 130, 155, 190, 194, 40,  41,  37,  56,  138, 212, 181,
              92,  64,  93,  131, 186, 215, 166, 96,  68,  0,   12,  81,  144});
  EXPECT_NEAR(sum(large), 26817, 16);
}

TEST(Resize, KeepsChannelsApart) {
  expect_within_one(
      resize(noise(11, 8, 3), 4, 5),
      {151, 137, 149, 107, 162, 143, 83,  104, 133, 128, 108, 113,
       163, 182, 162, 119, 130, 119, 96,  132, 122, 149, 116, 107,
       162, 140, 167, 164, 85,  123, 175, 128, 129, 141, 129, 132,
       133, 154, 160, 158, 130, 127, 138, 151, 66,  137, 173, 94,
       166, 144, 164, 149, 120, 104, 113, 91,  118, 102, 116, 85});
}

TEST(Resize, ShrinksOneSideAndEnlargesTheOther) {
  const Image image = resize(noise(6, 5, 3), 4, 9, Filter::kBicubic);
  expect_within_one(image, {89,  199, 88,  55,  104, 96,  224, 187, 113, 118,
                            178, 62,  113, 165, 92,  80,  152, 138, 200, 198,
                            125, 127, 205, 113, 151, 100, 104, 123, 234, 209});
  EXPECT_NEAR(sum(image), 14692, 16);
}

TEST(Resize, HalvesLargerImages) {
  const Image linear = resize(noise(64, 64, 1), 32, 32);
  expect_within_one(linear, {108, 109, 144, 136, 171, 150, 98,  116, 147, 137,
                             133, 134, 141, 141, 139, 136, 147, 221, 141, 123});
  EXPECT_NEAR(sum(linear), 130359, 32);
  const Image cubic = resize(noise(64, 64, 1), 32, 32, Filter::kBicubic);
  expect_within_one(cubic, {106, 106, 149, 129, 177, 152, 86,  111, 150, 134,
                            133, 135, 144, 145, 138, 135, 140, 244, 133, 116});
  EXPECT_NEAR(sum(cubic), 130225, 32);
}

TEST(Resize, SkipsTheSideThatStays) {
  expect_within_one(
      resize(noise(9, 6, 1), 9, 3),
      {86,  111, 144, 93,  122, 169, 124, 114, 44,  139, 117, 135, 187, 109,
       107, 152, 113, 126, 106, 64,  153, 174, 157, 133, 101, 179, 183});
  expect_within_one(resize(noise(9, 6, 1), 4, 6, Filter::kBicubic),
                    {136, 78,  170, 72, 71, 160, 127, 69,  128, 109, 119, 186,
                     171, 169, 86,  58, 62, 200, 227, 205, 101, 118, 48,  164});
}

TEST(Resize, ReachesOnePixel) {
  expect_within_one(resize(noise(5, 4, 1), 1, 1), {135});
}

TEST(Resize, SameSizeGivesTheSamePixels) {
  const Image image = noise(13, 9, 3);
  EXPECT_EQ(resize(image, 13, 9).pixels, image.pixels);
  EXPECT_EQ(resize(image, 13, 9, Filter::kBicubic).pixels, image.pixels);
}

TEST(Resize, KeepsAFlatImageFlat) {
  Image image(37, 23, 3);
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{201});
  for (Filter filter : {Filter::kBilinear, Filter::kBicubic}) {
    const Image result = resize(image, 11, 50, filter);
    EXPECT_EQ(std::count(result.pixels.begin(), result.pixels.end(), 201),
              11 * 50 * 3);
  }
}

TEST(Resize, OfABoxIsThatOfTheCrop) {
  for (const int channels : {1, 3}) {
    const Image image = noise(31, 22, channels);
    for (const Box& box : {Box{0, 0, 31, 22}, Box{3, 2, 20, 19},
                           Box{30, 21, 31, 22}, Box{16, 0, 31, 22}}) {
      const Image part = crop(image, box);
      for (const auto& [width, height] :
           {std::pair{8, 9}, {part.width, 9}, {8, part.height}, {40, 50}}) {
        EXPECT_EQ(resize_box(image, box, width, height).pixels,
                  resize(part, width, height).pixels);
      }
    }
    EXPECT_THROW(resize_box(image, {0, 0, 32, 22}, 8, 8), std::logic_error);
    EXPECT_THROW(resize_box(image, {4, 0, 4, 22}, 8, 8), std::logic_error);
  }
}

TEST(Resize, OfAWindowIsTheCropOfTheWhole) {
  for (const int channels : {1, 3}) {
    const Image image = noise(31, 22, channels);
    for (const auto& [width, height] :
         {std::pair{12, 13}, {31, 13}, {12, 22}, {31, 22}, {60, 70}}) {
      for (const Filter filter : {Filter::kBilinear, Filter::kBicubic}) {
        const Image whole = resize(image, width, height, filter);
        for (const Box& window : {Box{2, 3, 9, 11}, Box{0, 0, 1, 1},
                                  Box{width - 1, height - 4, width, height}}) {
          EXPECT_EQ(resize_window(image, width, height, window, filter).pixels,
                    crop(whole, window).pixels);
        }
      }
    }
    EXPECT_THROW(resize_window(image, 8, 8, {0, 0, 8, 9}), std::logic_error);
  }
}

TEST(Resize, FindsTheSizeOfAShape) {
  const auto expect_size = [](const Image& image, int side, int width,
                              int height) {
    const Size size = size_with_short_side(image, side);
    EXPECT_EQ(size.width, width);
    EXPECT_EQ(size.height, height);
  };
  expect_size(Image(300, 200, 1), 256, 384, 256);
  expect_size(Image(200, 267, 1), 256, 256, 341);
  expect_size(Image(50, 50, 1), 7, 7, 7);
  expect_size(Image(65'535, 1, 1), 4096, 268'431'360, 4096);
  EXPECT_THROW(size_with_short_side(Image(300'000, 1, 1), 8192), DataError);
  EXPECT_THROW(size_with_short_side(Image(), 8), DataError);
}

TEST(Resize, RefusesHugeTargets) {
  EXPECT_THROW(resize(noise(4, 4, 1), 20'000, 20'000), DataError);
  EXPECT_THROW(resize(noise(4, 4, 1), 2'000'000'000, 2'000'000'000), DataError);
}

TEST(Resize, RejectsEmptySizes) {
  EXPECT_THROW(resize(Image(), 4, 4), DataError);
  EXPECT_THROW(resize(noise(4, 4, 1), 0, 4), DataError);
  EXPECT_THROW(resize(noise(4, 4, 1), 4, -1), DataError);
}

}  // namespace
}  // namespace kith
