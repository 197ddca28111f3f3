#include "kith/image/rotate.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace kith {
namespace {

// 3 x 2: 0 1 2 / 3 4 5.
Image counting(int channels) {
  Image image(3, 2, channels);
  std::iota(image.pixels.begin(), image.pixels.end(), uint8_t{0});
  return image;
}

TEST(Rotate90, TurnsCounterclockwise) {
  const Image turned = rotate90(counting(1), 1);
  EXPECT_EQ(turned.width, 2);
  EXPECT_EQ(turned.height, 3);
  EXPECT_EQ(turned.pixels, (std::vector<uint8_t>{2, 5, 1, 4, 0, 3}));
}

TEST(Rotate90, TurnsTwiceAndThrice) {
  EXPECT_EQ(rotate90(counting(1), 2).pixels,
            (std::vector<uint8_t>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(rotate90(counting(1), 3).pixels,
            (std::vector<uint8_t>{3, 0, 4, 1, 5, 2}));
}

TEST(Rotate90, TakesAnyInteger) {
  const Image image = counting(1);
  EXPECT_EQ(rotate90(image, 0).pixels, image.pixels);
  EXPECT_EQ(rotate90(image, 8).pixels, image.pixels);
  EXPECT_EQ(rotate90(image, -1).pixels, rotate90(image, 3).pixels);
  EXPECT_EQ(rotate90(image, -6).pixels, rotate90(image, 2).pixels);
}

TEST(Rotate90, KeepsChannelsTogether) {
  const Image turned = rotate90(counting(3), 1);
  EXPECT_EQ(turned.pixels,
            (std::vector<uint8_t>{6, 7, 8, 15, 16, 17, 3, 4, 5, 12, 13, 14, 0,
                                  1, 2, 9, 10, 11}));
}

TEST(Rotate90, FourTurnsGiveTheImageBack) {
  Image image = counting(3);
  for (int i = 0; i < 4; ++i) image = rotate90(image, 1);
  EXPECT_EQ(image.pixels, counting(3).pixels);
}

}  // namespace
}  // namespace kith
