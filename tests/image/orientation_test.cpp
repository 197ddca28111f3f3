#include "kith/image/orientation.h"

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/damage.h"

namespace kith {
namespace {

void put(std::string& bytes, uint32_t value, int width, bool big_endian) {
  for (int i = 0; i < width; ++i) {
    const int shift = 8 * (big_endian ? width - 1 - i : i);
    bytes += static_cast<char>((value >> shift) & 255);
  }
}

// An APP1 body with another tag and then the orientation.
std::string app1(uint32_t orientation, bool big_endian, uint32_t type = 3,
                 uint32_t count = 1) {
  std::string bytes("Exif\0\0", 6);
  bytes += big_endian ? "MM" : "II";
  put(bytes, 42, 2, big_endian);
  put(bytes, 8, 4, big_endian);
  put(bytes, 2, 2, big_endian);
  put(bytes, 0x0100, 2, big_endian);
  put(bytes, 4, 2, big_endian);
  put(bytes, 1, 4, big_endian);
  put(bytes, 640, 4, big_endian);
  put(bytes, 0x0112, 2, big_endian);
  put(bytes, type, 2, big_endian);
  put(bytes, count, 4, big_endian);
  if (type == 3) {
    put(bytes, orientation, 2, big_endian);
    put(bytes, 0, 2, big_endian);
  } else {
    put(bytes, orientation, 4, big_endian);
  }
  put(bytes, 0, 4, big_endian);
  return bytes;
}

int orientation_of(const std::string& bytes) {
  return exif_orientation(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

TEST(Exif, ReadsBothByteOrdersAndTypes) {
  for (const bool big_endian : {false, true}) {
    for (uint32_t value = 1; value <= 8; ++value) {
      EXPECT_EQ(orientation_of(app1(value, big_endian)), int(value));
      EXPECT_EQ(orientation_of(app1(value, big_endian, 4)), int(value));
    }
  }
}

TEST(Exif, IsUprightWhenAbsentOrMalformed) {
  EXPECT_EQ(orientation_of(""), 1);
  EXPECT_EQ(orientation_of("http://ns.adobe.com/xap/1.0/"), 1);
  EXPECT_EQ(orientation_of(app1(0, false)), 1);
  EXPECT_EQ(orientation_of(app1(9, false)), 1);
  EXPECT_EQ(orientation_of(app1(6, false, 2)), 1);
  EXPECT_EQ(orientation_of(app1(6, false, 3, 2)), 1);
  std::string bytes = app1(6, false);
  bytes[6] = 'X';
  EXPECT_EQ(orientation_of(bytes), 1);
  bytes = app1(6, false);
  bytes[8] = 43;
  EXPECT_EQ(orientation_of(bytes), 1);
  bytes = app1(6, false);
  bytes.replace(10, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(orientation_of(bytes), 1);
}

TEST(Exif, IsUprightWhenCut) {
  const std::string bytes = app1(6, true);
  // Enough is left once the value itself has been read.
  const size_t needed = bytes.size() - 6;
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(orientation_of(bytes.substr(0, n)), n < needed ? 1 : 6) << n;
  }
}

TEST(Exif, DamageNeverCrashes) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 5000; ++i) {
    const int value = orientation_of(damage(app1(6, i % 2 == 0), random));
    EXPECT_GE(value, 1);
    EXPECT_LE(value, 8);
  }
}

// 3 x 2:  a b c
//         d e f
TEST(Orientation, TurnsUpright) {
  const std::vector<std::string> expected = {"abcdef", "cbafed", "fedcba",
                                             "defabc", "adbecf", "daebfc",
                                             "fcebda", "cfbead"};
  for (const int channels : {1, 3}) {
    Image image(3, 2, channels);
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] =
          static_cast<uint8_t>('a' + i / static_cast<size_t>(channels));
    }
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const Image out = apply_orientation(image, orientation);
      EXPECT_EQ(out.width, orientation < 5 ? 3 : 2);
      EXPECT_EQ(out.height, orientation < 5 ? 2 : 3);
      std::string text;
      for (const char c : expected[static_cast<size_t>(orientation - 1)]) {
        text.append(static_cast<size_t>(channels), c);
      }
      EXPECT_EQ(std::string(out.pixels.begin(), out.pixels.end()), text)
          << orientation;
    }
  }
}

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
