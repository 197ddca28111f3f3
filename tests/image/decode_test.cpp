#include "kith/image/decode.h"

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/image/encode.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/raw_images.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using std::string_view_literals::operator""sv;
using Pixels = std::vector<uint8_t>;

// Small enough that damaged headers cannot make the tests slow.
constexpr DecodeLimits kSmall{.max_pixels = 1 << 16, .max_side = 4096};

Image decode(std::string_view bytes, const DecodeLimits& limits = kSmall) {
  return decode_image(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x.img",
      limits);
}

std::string text(const Pixels& bytes) { return {bytes.begin(), bytes.end()}; }

Image gradient(int width, int height, int channels) {
  Image image(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * channels; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(40 + 3 * (x / channels) + 5 * y +
                                             20 * (x % channels));
    }
  }
  return image;
}

template <typename... Parts>
void expect_refused(std::string_view bytes, const Parts&... parts) {
  expect_error<DataError>([&] { decode(bytes); }, "x.img", parts...);
}

void expect_near(const Image& image, const Pixels& expected, int tolerance) {
  ASSERT_EQ(image.pixels.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(std::abs(image.pixels[i] - expected[i]), tolerance) << i;
  }
}

TEST(Png, RoundTripsAndIsDeterministic) {
  for (const int channels : {1, 3}) {
    const Image image = gradient(17, 9, channels);
    const Pixels bytes = encode_png(image);
    EXPECT_EQ(bytes, encode_png(image));
    const Image back = decode(text(bytes));
    EXPECT_EQ(back.width, 17);
    EXPECT_EQ(back.height, 9);
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.pixels, image.pixels);
  }
}

TEST(Png, IsToldByContentNotByName) {
  const TempDir dir;
  const std::string path = dir.file("picture.jpg");
  const Image image = gradient(5, 4, 3);
  write_png(path, image);
  EXPECT_EQ(decode_image(path).pixels, image.pixels);
}

TEST(Png, ExpandsLowBitDepths) {
  RawPng png{.width = 4, .depth = 1, .rows = std::string("\0\xa0"sv)};
  EXPECT_EQ(decode(raw_png(png)).pixels, (Pixels{255, 0, 255, 0}));
  png.depth = 2;
  png.rows = "\0\x1b"sv;
  EXPECT_EQ(decode(raw_png(png)).pixels, (Pixels{0, 85, 170, 255}));
  png.depth = 4;
  png.rows = "\0\x01\x8f"sv;
  EXPECT_EQ(decode(raw_png(png)).pixels, (Pixels{0, 17, 136, 255}));
}

TEST(Png, ScalesSixteenBitsWithRounding) {
  // 0x00ff is 255/257 = 0.99, which a plain shift would make 0.
  const RawPng grey{.width = 4,
                    .depth = 16,
                    .rows = std::string("\0\0\xff\x80\x80\xff\xff\0\x01"sv)};
  const Image image = decode(raw_png(grey));
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.pixels, (Pixels{1, 128, 255, 0}));
  const RawPng rgb{.depth = 16,
                   .color_type = 2,
                   .rows = std::string("\0\x10\x10\x20\x20\x30\x30"sv)};
  EXPECT_EQ(decode(raw_png(rgb)).pixels, (Pixels{16, 32, 48}));
}

TEST(Png, ExpandsThePalette) {
  RawPng png{.width = 3,
             .color_type = 3,
             .rows = std::string("\0\1\0\1"sv),
             .palette = "abcdef"};
  EXPECT_EQ(text(decode(raw_png(png)).pixels), "defabcdef");
  png.alpha = "\0"sv;  // entry 0 is transparent, the rest opaque
  EXPECT_EQ(text(decode(raw_png(png)).pixels),
            "def\xff\xff\xff"
            "def");
  png.rows = "\0\1\0\2"sv;  // beyond the palette: shown as black or refused
  try {
    EXPECT_EQ(decode(raw_png(png)).pixels.size(), 9u);
  } catch (const DataError&) {
  }
}

TEST(Png, CompositesAlphaOnWhite) {
  const RawPng grey{.width = 3,
                    .color_type = 4,
                    .rows = std::string("\0\x64\xff\x64\0\x64\x80"sv)};
  const Image image = decode(raw_png(grey));
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.pixels, (Pixels{100, 255, 177}));
  const RawPng rgba{.width = 2,
                    .color_type = 6,
                    .rows = std::string("\0\x0a\x14\x1e\xff\0\0\xff\x33"sv)};
  EXPECT_EQ(decode(raw_png(rgba)).pixels, (Pixels{10, 20, 30, 204, 204, 255}));
  const RawPng key{.width = 2,
                   .rows = std::string("\0\x07\x08"sv),
                   .alpha = std::string("\0\x07"sv)};
  EXPECT_EQ(decode(raw_png(key)).pixels, (Pixels{255, 8}));
}

TEST(Png, ReadsInterlacedFiles) {
  // 2 x 2: pass 1 holds (0, 0), pass 6 (1, 0), pass 7 the second row.
  const RawPng png{.width = 2,
                   .height = 2,
                   .interlace = 1,
                   .rows = std::string("\0a\0b\0cd"sv)};
  EXPECT_EQ(text(decode(raw_png(png)).pixels), "abcd");
}

TEST(Png, RefusesEveryTruncation) {
  const std::string good = text(encode_png(gradient(40, 30, 3)));
  for (size_t n = 0; n < good.size(); ++n) {
    const std::string cut = good.substr(0, n);
    if (n < 8) {
      expect_refused(cut, "unknown image format");
    } else {
      expect_refused(cut, "truncated or corrupt PNG");
    }
  }
}

TEST(Png, RefusesASizeBeyondTheLimits) {
  const auto refused = [](uint32_t width, uint32_t height) {
    const RawPng png{.width = width, .height = height};
    expect_error<DataError>([&] { decode(raw_png(png), {}); }, "x.img",
                            "too large", std::to_string(width));
  };
  refused(31623, 31623);  // 1e9 pixels
  refused(65536, 1);
  refused(1, 65536);
  refused(0x7fffffff, 0x7fffffff);
  const DecodeLimits limits{.max_pixels = 12, .max_side = 4};
  EXPECT_NO_THROW(decode(text(encode_png(gradient(4, 3, 1))), limits));
  EXPECT_THROW(decode(text(encode_png(gradient(4, 4, 1))), limits), DataError);
  EXPECT_THROW(decode(text(encode_png(gradient(5, 1, 1))), limits), DataError);
}

TEST(Png, RefusesASizeThatTheFileCannotHold) {
  const RawPng png{.width = 13000, .height = 13000};
  expect_error<DataError>([&] { decode(raw_png(png), {}); },
                          "truncated or corrupt PNG", "cannot hold");
}

TEST(Png, RefusesAnEmptyPicture) {
  expect_refused(raw_png({.width = 0}), "PNG");
}

TEST(Jpeg, RoundTripsWithinItsLoss) {
  for (const int channels : {1, 3}) {
    const Image image = gradient(24, 17, channels);
    const Image back = decode(text(encode_jpeg(image, 98)));
    EXPECT_EQ(back.width, 24);
    EXPECT_EQ(back.height, 17);
    EXPECT_EQ(back.channels, channels);
    expect_near(back, image.pixels, 6);
  }
}

TEST(Jpeg, ReadsGreyYcbcrAndRgb) {
  const Image grey = decode(flat_jpeg({.components = "\x64"}));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels, Pixels(64, 100));
  const Image neutral = decode(flat_jpeg({.components = "\x64\x80\x80"}));
  EXPECT_EQ(neutral.channels, 3);
  EXPECT_EQ(neutral.pixels, Pixels(192, 100));
  const Image rgb =
      decode(flat_jpeg({.components = "\x0a\x14\x1e", .adobe_transform = 0}));
  EXPECT_EQ(rgb.pixels[0], 10);
  EXPECT_EQ(rgb.pixels[1], 20);
  EXPECT_EQ(rgb.pixels[2], 30);
}

TEST(Jpeg, ConvertsCmyk) {
  // Ink: cyan 100, magenta 0, yellow 255, key 51 of 255.
  const Pixels expected = {124, 204, 0};
  const Image straight =
      decode(flat_jpeg({.components = std::string("\x64\0\xff\x33"sv)}));
  EXPECT_EQ(straight.channels, 3);
  EXPECT_EQ(Pixels(straight.pixels.begin(), straight.pixels.begin() + 3),
            expected);
  // Adobe stores the complement.
  const Image adobe = decode(flat_jpeg(
      {.components = std::string("\x9b\xff\0\xcc"sv), .adobe_transform = 0}));
  EXPECT_EQ(Pixels(adobe.pixels.begin(), adobe.pixels.begin() + 3), expected);
}

TEST(Jpeg, ConvertsYcck) {
  // Y = 155 without chroma: the inverted inks C = M = Y = 100 of light 255.
  const Image image = decode(
      flat_jpeg({.components = "\x9b\x80\x80\xff", .adobe_transform = 2}));
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.pixels, Pixels(192, 100));
}

TEST(Jpeg, RefusesUnknownComponents) {
  expect_refused(flat_jpeg({.components = "\x64\x64"}), "2 unknown components");
}

TEST(Jpeg, AppliesTheOrientation) {
  const Image image = gradient(32, 16, 1);
  const std::string jpeg = text(encode_jpeg(image, 100));
  const Image upright = decode(jpeg);
  const Image turned = decode(with_orientation(jpeg, 6));
  ASSERT_EQ(turned.width, 16);
  ASSERT_EQ(turned.height, 32);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 16; ++x) {
      ASSERT_EQ(turned.row(y)[x], upright.row(15 - x)[y]);
    }
  }
  const Image flipped = decode(with_orientation(jpeg, 2));
  EXPECT_EQ(flipped.row(3)[0], upright.row(3)[31]);
  EXPECT_EQ(decode(with_orientation(jpeg, 1)).pixels, upright.pixels);
  EXPECT_EQ(decode(with_orientation(jpeg, 77)).pixels, upright.pixels);
}

TEST(Jpeg, RefusesEveryTruncation) {
  for (const std::string& good :
       {with_orientation(text(encode_jpeg(gradient(40, 30, 3), 90)), 6),
        many_scans_jpeg(3)}) {
    ASSERT_NO_THROW(decode(good));
    for (size_t n = 0; n < good.size(); ++n) {
      const std::string cut = good.substr(0, n);
      if (n < 3) {
        expect_refused(cut, "unknown image format");
      } else {
        expect_refused(cut, "truncated or corrupt JPEG");
      }
    }
  }
}

TEST(Jpeg, IgnoresBytesAfterTheEnd) {
  const std::string good = text(encode_jpeg(gradient(16, 16, 3), 90));
  EXPECT_EQ(decode(good + "trailing").pixels, decode(good).pixels);
}

TEST(Jpeg, RefusesASizeBeyondTheLimits) {
  const std::string large =
      flat_jpeg({.components = "\x64", .width = 31623, .height = 31623});
  expect_error<DataError>([&] { decode(large, {}); }, "x.img", "too large",
                          "31623 x 31623");
}

TEST(Jpeg, RefusesEndlessScans) {
  EXPECT_EQ(decode(many_scans_jpeg(40)).pixels, Pixels(64, 128));
  expect_refused(many_scans_jpeg(60), "JPEG", "too many scans");
}

TEST(Decode, ListsFormatsWhenUnknown) {
  expect_refused("", "JPEG, PNG, BMP", "empty");
  expect_refused("hello, world", "JPEG, PNG, BMP", "none of them");
  expect_refused("<svg></svg>", "JPEG, PNG, BMP", "SVG");
}

TEST(Decode, NamesAMissingFile) {
  const TempDir dir;
  expect_error<DataError>([&] { decode_image(dir.file("no.png")); }, "no.png",
                          "No such file");
}

TEST(Decode, StopsWhenItsProcessorTimeIsOver) {
  const Image image = gradient(64, 48, 3);
  const std::string jpeg = text(encode_jpeg(image, 90));
  for (const std::string& bytes :
       {text(encode_png(image)), jpeg, many_scans_jpeg(3),
        jpeg.substr(0, 2) + std::string("\xff\xe1\0\2", 4) + jpeg.substr(2)}) {
    DecodeLimits limits = kSmall;
    EXPECT_NO_THROW(decode(bytes, limits));
    limits.seconds = 0;
    EXPECT_NO_THROW(decode(bytes, limits));  // a millisecond of work
    limits.seconds_per_million = 0;
    expect_error<DataError>([&] { decode(bytes, limits); },
                            "x.img: decoding took more than 0.0 s",
                            "processor time");
  }
}

// What made decoders slow or large is skipped: it says nothing of the pixels.
TEST(Decode, SkipsTextsAndForeignMarkers) {
  const Image image = gradient(16, 16, 3);
  std::string png = text(encode_png(image));
  const std::string gamma("\0\0\0\4gAMA\0\0\xff\xff\0\0\0\0", 16);
  png.insert(png.find("IDAT") - 4, gamma);
  EXPECT_EQ(decode(repair_png(png)).pixels, image.pixels);

  const std::string jpeg = text(encode_jpeg(image, 90));
  const std::string xmp("\xff\xe1\0\x0chttp://xmp", 14);
  std::string many = jpeg.substr(0, 2);
  for (int i = 0; i < 100; ++i) many += xmp;
  // The first segment with an orientation counts, wherever it is.
  const std::string turned =
      many + with_orientation(with_orientation(jpeg, 3), 6).substr(2);
  const Image upright = decode(turned);
  EXPECT_EQ(upright.pixels, decode(with_orientation(jpeg, 6)).pixels);
  const std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t*>(turned.data()), turned.size());
  const StoredImage stored = decode_stored(bytes, "x.img");
  EXPECT_EQ(stored.orientation, 6);
  EXPECT_EQ(stored.pixels.pixels, decode(jpeg).pixels);
}

void fuzz(const std::string& good, uint64_t seed, bool repair) {
  ASSERT_NO_THROW(decode(good));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = damage(good, random);
    if (repair) bytes = repair_png(std::move(bytes));
    try {
      const Image image = decode(bytes);
      EXPECT_LE(image.pixels.size(), size_t{3} << 16);
    } catch (const DataError&) {
    }
  }
}

TEST(Decode, DamagedPngNeverDoesMoreThanThrowDataError) {
  const std::string good = text(encode_png(gradient(12, 7, 3)));
  fuzz(good, 5, false);
  fuzz(good, 6, true);
  fuzz(raw_png({.width = 3,
                .color_type = 3,
                .interlace = 1,
                .rows = std::string("\0\1\0\0\0\1"sv),
                .palette = "abcdef",
                .alpha = "x"}),
       7, true);
}

TEST(Decode, DamagedJpegNeverDoesMoreThanThrowDataError) {
  const std::string good = text(encode_jpeg(gradient(20, 12, 3), 90));
  fuzz(with_orientation(good, 5), 8, false);
  fuzz(flat_jpeg({.components = "\x9b\x80\x80\xff", .adobe_transform = 2}), 9,
       false);
  fuzz(many_scans_jpeg(2), 10, false);
}

}  // namespace
}  // namespace kith
