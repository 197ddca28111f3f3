#include "kith/data/coded_pictures.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "tests/support/coded.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/jpegs.h"
#include "tests/support/pictures.h"
#include "tests/support/scene.h"

namespace kith {
namespace {

using Bytes = std::span<const uint8_t>;

Bytes bytes_of_text(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

InputOptions input_of(int64_t size, int64_t resize,
                      const std::string& filter = "bilinear") {
  InputOptions input;
  input.size = size;
  input.resize = resize;
  input.filter = filter;
  input.colour = "rgb";
  return input;
}

Image prepared(const std::string& file, const InputOptions& input) {
  Rng unused(0, Stream::kAugment);
  return prepare_image(decode_image(bytes_of_text(file), "x.jpg"), input, {},
                       unused);
}

void expect_same(const std::string& file, const InputOptions& input,
                 const std::string& what) {
  InputWeights weights(input);
  CodedPictures coded(weights, plain_pixels);
  ASSERT_TRUE(coded.take(bytes_of_text(file), "x.jpg", 0)) << what;
  const std::vector<uint8_t> found = finished(coded, 1, input.size);
  const std::vector<uint8_t> expected = prepared(file, input).pixels;
  ASSERT_EQ(found.size(), expected.size()) << what;
  size_t wrong = 0;
  for (size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected[i];
  EXPECT_EQ(wrong, 0U) << what << " of " << found.size();
}

const std::vector<JpegKind>& samplings() {
  static const std::vector<JpegKind> kinds = {{.across = 1, .down = 1},
                                              {.across = 2, .down = 1},
                                              {.across = 2, .down = 2}};
  return kinds;
}

std::string text(const JpegKind& kind) {
  return std::to_string(kind.across) + " x " + std::to_string(kind.down) +
         ", quality " + std::to_string(kind.quality);
}

TEST(CodedPictures, HaveThePixelsOfDecodedPicturesAtEverySmallSize) {
  for (const JpegKind& kind : samplings()) {
    for (int width = 1; width <= 40; ++width) {
      for (int height = 1; height <= 40; ++height) {
        // As large as it is or larger: no pixel is lost in the resize.
        const InputOptions input = input_of(std::max(width, height), 0);
        expect_same(jpeg_bytes(draw_scene(width, width, height), kind), input,
                    text(kind) + " " + std::to_string(width) + " x " +
                        std::to_string(height));
      }
    }
  }
}

TEST(CodedPictures, HaveThePixelsOfDecodedPicturesAtEveryQuality) {
  const Image noise = noise_picture(83, 61, 3);
  const Image scene = draw_scene(7, 83, 61);
  for (JpegKind kind : samplings()) {
    for (kind.quality = 1; kind.quality <= 100; kind.quality += 3) {
      expect_same(jpeg_bytes(noise, kind), input_of(83, 0), text(kind));
      expect_same(jpeg_bytes(scene, kind), input_of(83, 0), text(kind));
    }
  }
}

TEST(CodedPictures, HaveThePixelsOfDecodedPicturesHoweverTheyAreResized) {
  for (const JpegKind& kind : samplings()) {
    const std::string wide = jpeg_bytes(draw_scene(1, 267, 200), kind);
    const std::string tall = jpeg_bytes(draw_scene(2, 149, 333), kind);
    for (const char* filter : {"bilinear", "bicubic"}) {
      for (const InputOptions& input :
           {input_of(224, 256, filter), input_of(224, 224, filter),
            input_of(64, 72, filter), input_of(224, 0, filter),
            input_of(200, 200, filter), input_of(33, 200, filter),
            input_of(1, 1, filter)}) {
        const std::string what = text(kind) + " to " +
                                 std::to_string(input.size) + " of " +
                                 std::to_string(input.resize) + " " + filter;
        expect_same(wide, input, what);
        expect_same(tall, input, what);
      }
    }
  }
}

TEST(CodedPictures, HaveThePixelsOfDecodedPicturesOfOtherUsualFiles) {
  const Image scene = draw_scene(3, 75, 50);
  const InputOptions input = input_of(64, 72);
  expect_same(jpeg_bytes(scene, {.restart_rows = 1}), input, "restarts");
  expect_same(jpeg_bytes(scene, {.one_scan = false}), input, "three scans");
  expect_same(jpeg_bytes(noise_picture(75, 50, 1)), input, "grey");
  // Without the scan of Cr, which is allowed.
  std::string two = jpeg_bytes(scene, {.one_scan = false});
  two.resize(two.rfind("\xff\xda"));
  expect_same(two + "\xff\xd9", input, "two scans of three");
}

// Coefficients that no picture has wrap around and are clamped where
// libjpeg-turbo's numbers of 16 bits do. Other processors, and libjpegs without
// its code for this one, clamp elsewhere.
#if defined(__x86_64__)
TEST(CodedPictures, HaveThePixelsOfDecodedPicturesOfAnyCoefficients) {
  Rng rng(11, Stream::kReport);
  for (const JpegKind& kind : samplings()) {
    for (const int quantum : {1, 16, 255, 65535}) {
      for (const int largest : {1, 30, 1023}) {
        expect_same(random_jpeg(70, 45, kind, largest, quantum, rng),
                    input_of(70, 0),
                    text(kind) + ", " + std::to_string(largest) + " times " +
                        std::to_string(quantum));
      }
    }
  }
}
#endif

TEST(CodedPictures, HoldManyOfABatchAtTheirPositions) {
  const InputOptions input = input_of(96, 100);
  InputWeights weights(input);
  CodedPictures coded(weights, plain_pixels);
  // More than one piece holds.
  constexpr int64_t kCount = CodedPictures::kMostPictures + 40;
  std::vector<std::string> files;
  std::vector<uint8_t> expected;
  for (int64_t i = 0; i < kCount; ++i) {
    const int side = static_cast<int>(20 + i % 90);
    files.push_back(jpeg_bytes(draw_scene(i, side, 130 - side),
                               samplings()[static_cast<size_t>(i) % 3]));
    const Image image = prepared(files.back(), input);
    expected.insert(expected.end(), image.pixels.begin(), image.pixels.end());
  }
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < kCount; i = next++) {
      EXPECT_TRUE(
          coded.take(bytes_of_text(files[static_cast<size_t>(i)]), "x.jpg", i));
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(coded.pieces().size(), 2U);
  EXPECT_TRUE(finished(coded, kCount, input.size) == expected);
}

TEST(CodedPictures, LeaveOtherFilesToTheDecoder) {
  const Image scene = draw_scene(4, 40, 30);
  const InputOptions input = input_of(16, 0);
  const std::string turned(
      "Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0", 32);
  const std::vector<uint8_t> png = encode_png(scene);
  const std::vector<std::string> others = {
      jpeg_bytes(scene, {.progressive = true}),
      jpeg_bytes(scene, {.across = 1, .down = 2}),
      jpeg_bytes(scene, {.across = 4, .down = 1}),
      jpeg_bytes(scene, {.across = 1, .down = 1, .rgb = true}),
      jpeg_bytes(scene, {.exif = turned}),
      jpeg_bytes(draw_scene(5, JpegPicture::kMostWidth + 1, 2)),
      {png.begin(), png.end()}};
  for (size_t i = 0; i < others.size(); ++i) {
    InputWeights weights(input);
    CodedPictures coded(weights, plain_pixels);
    EXPECT_FALSE(coded.take(bytes_of_text(others[i]), "x", 0)) << i;
    EXPECT_TRUE(coded.empty()) << i;
  }
}

TEST(CodedPictures, LeaveWhatHasNoPlace) {
  const std::string large = jpeg_bytes(flat_picture(2400, 2000, 3, 90));
  const InputOptions input = input_of(8, 0);
  InputWeights weights(input);
  CodedPictures coded(weights, plain_pixels);
  int64_t taken = 0;
  while (taken < 100 && coded.take(bytes_of_text(large), "x", taken)) {
    ++taken;
  }
  EXPECT_EQ(taken, static_cast<int64_t>(CodedPictures::kMostPieces));
  const std::string larger = jpeg_bytes(flat_picture(2600, 2600, 3, 90));
  CodedPictures empty(weights, plain_pixels);
  EXPECT_FALSE(empty.take(bytes_of_text(larger), "x", 0));
  EXPECT_TRUE(empty.empty());
}

TEST(CodedPictures, RefuseWhatTheDecoderRefusesWithItsWords) {
  const InputOptions input = input_of(16, 20);
  const std::string whole = jpeg_bytes(draw_scene(6, 90, 60));
  std::mt19937_64 random(5);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string file = damage(whole, random);
    std::string expected, found;
    try {
      decode_image(bytes_of_text(file), "x.jpg");
    } catch (const DataError& error) {
      expected = error.what();
    }
    InputWeights weights(input);
    CodedPictures coded(weights, plain_pixels);
    bool taken = false;
    try {
      taken = coded.take(bytes_of_text(file), "x.jpg", 0);
    } catch (const DataError& error) {
      found = error.what();
    }
    // What is not taken goes to the decoder, which says it.
    if (!taken && found.empty()) continue;
    EXPECT_EQ(found, expected) << i;
    if (taken) expect_same(file, input, "damage " + std::to_string(i));
    refused += taken ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace kith
