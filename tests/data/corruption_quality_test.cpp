// The measured statistics of Gaussian blur and JPEG.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "kith/data/corruptions.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

TEST(GaussianBlurCorruption, SigmaIsUniformFromOneToThree) {
  const GaussianBlurCorruption part;
  // A white bar, 20 columns wide: its variance is (20^2 - 1) / 12, and the
  // kernel's is added to it.
  Image bar(80, 3, 1);
  for (int y = 0; y < 3; ++y) std::fill_n(bar.row(y) + 30, 20, uint8_t{255});
  std::vector<double> sigmas;
  for (int64_t i = 0; i < 300; ++i) {
    const Image blurred = corrupt(part, "gaussian_blur", bar, 1, i);
    double sum = 0.0;
    double square = 0.0;
    for (int x = 0; x < 80; ++x) {
      const double place = x - 39.5;
      sum += blurred.row(1)[x];
      square += place * place * blurred.row(1)[x];
    }
    sigmas.push_back(std::sqrt(square / sum - (400 - 1) / 12.0));
  }
  const auto [least, most] = std::minmax_element(sigmas.begin(), sigmas.end());
  // Rounding to 8 bits leaves an error of a few hundredths.
  EXPECT_NEAR(*least, 1.0, 0.06);
  EXPECT_NEAR(*most, 3.0, 0.06);
  double mean = 0.0;
  for (const double sigma : sigmas) mean += sigma / 300;
  EXPECT_NEAR(mean, 2.0, 5 * 0.577 / std::sqrt(300) + 0.02);
}

// The first six entries of the first quantisation table of a JPEG, which are
// in zigzag order.
std::array<int, 6> quantisation(const std::vector<uint8_t>& bytes) {
  constexpr std::array<uint8_t, 2> kMarker = {0xFF, 0xDB};
  const auto found =
      std::search(bytes.begin(), bytes.end(), kMarker.begin(), kMarker.end());
  std::array<int, 6> table{};
  if (bytes.end() - found < 11) return table;
  // Marker, length of two bytes, number of the table.
  std::copy_n(found + 5, table.size(), table.begin());
  return table;
}

TEST(JpegCorruption, QualityGivesTheQuantisationTable) {
  // The luminance table of the standard's annex K at quality 50; below, libjpeg
  // scales it by 50 / quality.
  constexpr std::array<int, 6> kBase = {16, 11, 12, 14, 12, 10};
  for (const int channels : {1, 3}) {
    const Image image = noise_picture(16, 16, channels);
    for (int quality = 5; quality <= 20; ++quality) {
      std::array<int, 6> expected{};
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] = (kBase[i] * (5000 / quality) + 50) / 100;
      }
      EXPECT_EQ(quantisation(encode_jpeg(image, quality)), expected);
    }
  }
}

TEST(JpegCorruption, QualityIsUniformFromFiveToTwenty) {
  const JpegCorruption part;
  const Image image = noise_picture(16, 16, 3);
  std::map<std::vector<uint8_t>, int> quality_of;
  for (int quality = 1; quality <= 40; ++quality) {
    quality_of[decode_image(encode_jpeg(image, quality), "JPEG").pixels] =
        quality;
  }
  std::map<int, int> counts;
  for (int64_t i = 0; i < 1600; ++i) {
    const Image result = corrupt(part, "jpeg", image, 2, i);
    ASSERT_TRUE(quality_of.count(result.pixels));
    ++counts[quality_of.at(result.pixels)];
  }
  ASSERT_EQ(counts.size(), 16u);
  EXPECT_EQ(counts.begin()->first, 5);
  EXPECT_EQ(counts.rbegin()->first, 20);
  for (const auto& [quality, count] : counts) {
    EXPECT_NEAR(count, 100, 5 * std::sqrt(100 * 15.0 / 16)) << quality;
  }
}

TEST(JpegCorruption, StrongestCompressionHasQualityOne) {
  const JpegCorruption part({.compression = {100, 100}});
  const Image image = noise_picture(16, 16, 1);
  EXPECT_EQ(corrupt(part, "jpeg", image, 3, 0).pixels,
            decode_image(encode_jpeg(image, 1), "JPEG").pixels);
}

}  // namespace
}  // namespace kith
