// BMP, GIF, WebP and TIFF; the tests of WebP and TIFF are skipped where the
// library was not there.

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/image/decode.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/more_pictures.h"

namespace kith {
namespace {

using std::string_literals::operator""s;
using std::string_view_literals::operator""sv;
using Values = std::vector<uint8_t>;

constexpr DecodeLimits kFewPixels{.max_pixels = 1 << 16, .max_side = 4096};

Image decode_bytes(std::string_view bytes,
                   const DecodeLimits& limits = kFewPixels) {
  return decode_image(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x.img",
      limits);
}

std::string letters(const Image& image) {
  return {image.pixels.begin(), image.pixels.end()};
}

template <typename... Parts>
void expect_unreadable(std::string_view bytes, const Parts&... parts) {
  expect_error<DataError>([&] { decode_bytes(bytes); }, "x.img", parts...);
}

/// What cannot be whole is refused at every length.
void expect_every_cut_refused(const std::string& good, size_t unneeded = 0) {
  ASSERT_NO_THROW(decode_bytes(good));
  for (size_t n = 0; n + unneeded < good.size(); ++n) {
    EXPECT_THROW(decode_bytes(good.substr(0, n)), DataError) << n;
  }
}

void expect_harmless_when_damaged(const std::string& good, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1500; ++i) {
    try {
      const Image image = decode_bytes(damage(good, random));
      EXPECT_LE(image.pixels.size(), size_t{3} << 16);
    } catch (const DataError&) {
    }
  }
}

bool reads(const std::string& format) {
  const std::vector<std::string> all = image_formats();
  return std::find(all.begin(), all.end(), format) != all.end();
}

TEST(Bmp, ReadsRowsFromBelowOrAbove) {
  RawBmp bmp{.width = 2, .height = 2, .rows = "fedcba\0\0lkjihg\0\0"s};
  const Image image = decode_bytes(raw_bmp(bmp));
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(letters(image), "jklghidefabc");
  bmp.height = -2;
  EXPECT_EQ(letters(decode_bytes(raw_bmp(bmp))), "defabcjklghi");
  expect_every_cut_refused(raw_bmp(bmp));
}

TEST(Bmp, ReadsPalettes) {
  // Entries are blue, green, red and a zero.
  std::string palette = "cba\0fed\0"s + std::string(4 * 254, '\0');
  RawBmp bmp{.width = 3, .bits = 8, .between = palette, .rows = "\1\0\1\0"s};
  EXPECT_EQ(letters(decode_bytes(raw_bmp(bmp))), "defabcdef");
  bmp.bits = 1;
  bmp.between.resize(8);
  bmp.rows = "\xa0\0\0\0"s;
  EXPECT_EQ(letters(decode_bytes(raw_bmp(bmp))), "defabcdef");
  bmp.bits = 4;
  bmp.between = palette.substr(0, 64);
  bmp.rows = "\x10\x10\0\0"s;
  EXPECT_EQ(letters(decode_bytes(raw_bmp(bmp))), "defabcdef");
}

TEST(Bmp, ReadsRunLengths) {
  const std::string palette = "cba\0fed\0"s + std::string(4 * 254, '\0');
  // Two of 1, the end of a row, three one by one, the end.
  const RawBmp bmp{.width = 3,
                   .height = 2,
                   .bits = 8,
                   .compression = 1,
                   .between = palette,
                   .rows = "\2\1\0\0\0\3\0\1\0\0\0\1"s};
  EXPECT_EQ(letters(decode_bytes(raw_bmp(bmp))), "abcdefabcdefdefabc");
  RawBmp wide = bmp;
  wide.rows = "\4\1\0\1"s;
  expect_unreadable(raw_bmp(wide), "BMP", "leaves the picture");
  wide = bmp;
  wide.width = wide.height = 255;
  expect_unreadable(raw_bmp(wide).substr(0, 100), "BMP");
}

TEST(Bmp, ReadsMasksAndTransparency) {
  // Red, green and blue of 5, 6 and 5 bits: all, none, all.
  const std::string masks = little_endian(0xf800, 4) +
                            little_endian(0x07e0, 4) + little_endian(0x1f, 4);
  const RawBmp packed{
      .bits = 16, .compression = 3, .between = masks, .rows = "\x1f\xf8\0\0"s};
  EXPECT_EQ(decode_bytes(raw_bmp(packed)).pixels, (Values{255, 0, 255}));
  const std::string alpha_masks =
      little_endian(0xff0000, 4) + little_endian(0xff00, 4) +
      little_endian(0xff, 4) + little_endian(0xff000000u, 4);
  RawBmp bmp{.width = 2,
             .bits = 32,
             .compression = 6,
             .between = alpha_masks,
             .rows = "\x1e\x14\x0a\xff\0\0\0\0"s};
  EXPECT_EQ(decode_bytes(raw_bmp(bmp)).pixels,
            (Values{10, 20, 30, 255, 255, 255}));
  bmp.rows[3] = '\0';  // nothing would be seen: it is not meant
  EXPECT_EQ(decode_bytes(raw_bmp(bmp)).pixels, (Values{10, 20, 30, 0, 0, 0}));
}

TEST(Bmp, RefusesWhatItDoesNotKnow) {
  expect_unreadable(raw_bmp({.bits = 24, .compression = 4, .rows = "abcd"}),
                    "BMP", "compression 4", "save the picture as PNG");
  expect_unreadable(raw_bmp({.width = 70'000, .rows = "abcd"}), "too large");
  expect_unreadable(raw_bmp({.width = 0, .rows = "abcd"}), "empty image");
  expect_unreadable("BM", "truncated or corrupt BMP");
}

TEST(Gif, ReadsTheFirstPicture) {
  const Image image = decode_bytes(raw_gif({}));
  EXPECT_EQ(image.width, 2);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(letters(image), "abcdefghijkl");
  // The trailer alone is not missed.
  expect_every_cut_refused(raw_gif({}), 1);
}

TEST(Gif, ReadsCodesOfSeveralPixels) {
  // 0, then the code made of it: "0", "00", "000" are ten pixels with "0000".
  const RawGif gif{.screen_width = 3,
                   .screen_height = 1,
                   .width = 3,
                   .height = 1,
                   .codes = {4, 1, 6, 5}};
  EXPECT_EQ(letters(decode_bytes(raw_gif(gif))), "defdefdef");
}

TEST(Gif, PlacesItOnAWhiteScreen) {
  const RawGif gif{.screen_width = 3,
                   .screen_height = 1,
                   .left = 1,
                   .width = 2,
                   .height = 1,
                   .transparent = 1,
                   .codes = {4, 2, 1, 5}};
  EXPECT_EQ(letters(decode_bytes(raw_gif(gif))), "\xff\xff\xffghi\xff\xff\xff");
}

TEST(Gif, ReadsInterlacedRows) {
  // Rows come as 0, 4, 2, 1, 3.
  const RawGif gif{.screen_width = 1,
                   .screen_height = 5,
                   .width = 1,
                   .height = 5,
                   .interlaced = true,
                   .codes = {4, 0, 1, 4, 2, 3, 4, 0, 5}};
  EXPECT_EQ(letters(decode_bytes(raw_gif(gif))), "abcjklghiabcdef");
}

TEST(Gif, RefusesWhatIsNotWhole) {
  expect_unreadable(raw_gif({.codes = {4, 7, 5}}), "GIF", "not made");
  expect_unreadable(raw_gif({.codes = {4, 0, 5}}), "GIF", "too early");
  expect_unreadable(raw_gif({.screen_width = 9000, .screen_height = 9000}),
                    "too large");
  expect_unreadable("GIF89a"s + std::string(7, '\0') + ";", "no picture");
}

TEST(Webp, ReadsBothKinds) {
  if (!reads("WebP")) GTEST_SKIP() << "built without libwebp";
  const Image image = decode_bytes(lossless_webp());
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.pixels, (Values{255, 0, 0, 0, 255, 0, 0, 0, 255,  //
                                  10, 20, 30, 1, 2, 3, 200, 100, 50}));
  EXPECT_EQ(decode_bytes(transparent_webp()).pixels,
            (Values{255, 0, 0, 255, 255, 255, 127, 127, 255, 10, 20, 30}));
  const Image lossy = decode_bytes(lossy_webp());
  ASSERT_EQ(lossy.pixels.size(), 16u * 16 * 3);
  EXPECT_NEAR(lossy.pixels[100], 100, 3);
  expect_every_cut_refused(lossless_webp(), 1);  // its padding
  expect_every_cut_refused(lossy_webp(), 1);
}

TEST(Webp, ReadsTheFirstPictureOfAnAnimation) {
  if (!reads("WebP")) GTEST_SKIP() << "built without libwebp";
  const Image image = decode_bytes(animated_webp());
  EXPECT_EQ(image.width, 8);
  EXPECT_EQ(image.height, 4);
  EXPECT_EQ(image.row(0)[0], 255);
  EXPECT_EQ(Values(image.row(1) + 6, image.row(1) + 12),
            (Values{10, 20, 30, 1, 2, 3}));
}

TEST(Tiff, ReadsGreyAndColours) {
  if (!reads("TIFF")) GTEST_SKIP() << "built without libtiff";
  const Image grey = decode_bytes(raw_tiff({.width = 3, .pixels = "abc"}));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(letters(grey), "abc");
  RawTiff tiff{.height = 2, .samples = 3, .photometric = 2, .pixels = "abcdef"};
  const Image rgb = decode_bytes(raw_tiff(tiff));
  EXPECT_EQ(rgb.channels, 3);
  EXPECT_EQ(letters(rgb), "abcdef");
  expect_every_cut_refused(raw_tiff(tiff), 4);  // where the next one is
  tiff.orientation = 6;
  const Image turned = decode_bytes(raw_tiff(tiff));
  EXPECT_EQ(turned.width, 2);
  EXPECT_EQ(letters(turned), "defabc");
}

TEST(Tiff, CompositesAlphaOnWhite) {
  if (!reads("TIFF")) GTEST_SKIP() << "built without libtiff";
  const RawTiff tiff{.width = 2,
                     .samples = 4,
                     .photometric = 2,
                     .extra = 2,
                     .pixels = "\x0a\x14\x1e\xff\0\0\xff\0"s};
  EXPECT_EQ(decode_bytes(raw_tiff(tiff)).pixels,
            (Values{10, 20, 30, 255, 255, 255}));
}

TEST(Tiff, RefusesWhatIsNotWhole) {
  if (!reads("TIFF")) GTEST_SKIP() << "built without libtiff";
  expect_unreadable(raw_tiff({.width = 70'000, .pixels = "a"}), "too large");
  expect_unreadable(raw_tiff({.width = 200, .height = 200, .pixels = "a"}),
                    "TIFF");
  expect_unreadable(raw_tiff({.compression = 12345, .pixels = "a"}), "TIFF");
}

TEST(MoreFormats, SayWhichLibraryIsMissing) {
  if (!reads("WebP")) expect_unreadable(lossless_webp(), "libwebp", "PNG");
  if (!reads("TIFF")) {
    expect_unreadable(raw_tiff({.pixels = "a"}), "libtiff", "PNG");
  }
  expect_unreadable(
      "\0\0\0\x18"
      "ftypheic"sv,
      "JPEG, PNG, BMP", "HEIF");
}

TEST(MoreFormats, DamageNeverDoesMoreThanThrowDataError) {
  expect_harmless_when_damaged(
      raw_bmp({.width = 2, .height = 2, .rows = std::string(16, 'x')}), 20);
  expect_harmless_when_damaged(
      raw_bmp({.width = 3,
               .height = 2,
               .bits = 4,
               .compression = 2,
               .between = std::string(64, 'p'),
               .rows = "\2\1\0\0\0\3\x12\x30\0\2\1\1\0\1"s}),
      21);
  expect_harmless_when_damaged(raw_gif({.transparent = 2}), 22);
  expect_harmless_when_damaged(
      raw_gif({.width = 3, .codes = {4, 1, 6, 4, 2, 3, 4, 0, 5}}), 23);
  for (const std::string& webp :
       {lossless_webp(), transparent_webp(), lossy_webp(), animated_webp()}) {
    expect_harmless_when_damaged(webp, 24);
  }
  expect_harmless_when_damaged(
      raw_tiff(
          {.height = 2, .samples = 3, .photometric = 2, .pixels = "abcdef"}),
      25);
  expect_harmless_when_damaged(
      raw_tiff({.width = 4, .compression = 32773, .pixels = "\3abcd"}), 26);
}

}  // namespace
}  // namespace kith
