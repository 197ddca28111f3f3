#include "kith/image/tone.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "kith/image/colour.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

/// FNV-1a: what Pillow 9.4 makes of the same pictures is kept as a number.
uint64_t hash_of(const Image& image) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const uint8_t pixel : image.pixels) {
    hash = (hash ^ pixel) * 0x100000001b3U;
  }
  return hash;
}

Image narrow_pattern(int channels) {
  Image image = pattern_picture(31, 23, channels);
  for (uint8_t& pixel : image.pixels) {
    pixel = static_cast<uint8_t>(40 + pixel / 2);
  }
  return image;
}

template <class Change>
uint64_t hash_after(Image image, const Change& change) {
  change(image);
  return hash_of(image);
}

TEST(Tone, IsThatOfPillow) {
  struct Hashes {
    int channels;
    uint64_t source, stretched, even, three_bits, inverted, dull, sharp;
  };
  for (const Hashes& h :
       {Hashes{1, 0xeda242f4bef0ae93U, 0x26ef190b40ed1305U, 0x6a4a35d15a6e0f1bU,
               0xa45b6545e38908ffU, 0xf6675a3fbf8cbbbeU, 0x8d8290efaf14de29U,
               0x470a5b81385803f1U},
        Hashes{3, 0xe2c11ced3205f6c6U, 0x19a84ed8c249d14fU, 0x4f420b83a9cc21f0U,
               0x743fc3643530c037U, 0xd40b23be8d16ab04U, 0xc2e22004a1b63563U,
               0x4238fa5dbcffa3b6U}}) {
    const Image whole = pattern_picture(31, 23, h.channels);
    const Image narrow = narrow_pattern(h.channels);
    EXPECT_EQ(hash_of(narrow), h.source);
    EXPECT_EQ(hash_after(narrow, auto_contrast), h.stretched);
    EXPECT_EQ(hash_after(narrow, equalize), h.even);
    EXPECT_EQ(hash_after(whole, [](Image& i) { posterize(i, 3); }),
              h.three_bits);
    EXPECT_EQ(hash_after(whole, [](Image& i) { solarize(i, 100); }),
              h.inverted);
    EXPECT_EQ(hash_after(whole, [](Image& i) { adjust_sharpness(i, 0.3); }),
              h.dull);
    EXPECT_EQ(hash_after(whole, [](Image& i) { adjust_sharpness(i, 1.7); }),
              h.sharp);
  }
}

TEST(Tone, CanBeNothing) {
  for (const int channels : {1, 3}) {
    const Image image = noise_picture(9, 7, channels);
    Image same = image;
    posterize(same, 8);
    solarize(same, 256);
    adjust_sharpness(same, 1.0);
    EXPECT_EQ(same.pixels, image.pixels);
    Image flat = flat_picture(9, 7, channels, 77);
    auto_contrast(flat);
    equalize(flat);
    adjust_sharpness(flat, 0.0);
    EXPECT_EQ(flat.pixels, flat_picture(9, 7, channels, 77).pixels);
  }
  Image tiny = noise_picture(1, 2, 3);
  adjust_sharpness(tiny, 0.0);  // only outermost pixels
  EXPECT_EQ(tiny.pixels, noise_picture(1, 2, 3).pixels);
}

}  // namespace
}  // namespace kith
