// The measured statistics of the three noises.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "kith/data/corruptions.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments moments_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Moments m;
  for (const double value : values) m.mean += value / count;
  for (const double value : values) {
    m.deviation += (value - m.mean) * (value - m.mean) / count;
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

TEST(GaussianNoiseCorruption, DeviationIsUniformUpToItsMost) {
  const GaussianNoiseCorruption part;
  const Image grey = flat_picture(64, 64, 1, 128);
  std::vector<double> deviations;
  for (int64_t i = 0; i < 400; ++i) {
    const Image noisy = corrupt(part, "gaussian_noise", grey, 1, i);
    const Moments m = moments_of({noisy.pixels.begin(), noisy.pixels.end()});
    // Rounding adds a variance of 1/12.
    const double deviation =
        std::sqrt(std::max(0.0, m.deviation * m.deviation - 1.0 / 12));
    EXPECT_NEAR(m.mean, 128.0, 5 * (m.deviation + 0.1) / 64);
    deviations.push_back(deviation);
  }
  // A deviation measured on n = 4096 pixels is off by s / sqrt(2 n).
  const auto [least, most] =
      std::minmax_element(deviations.begin(), deviations.end());
  EXPECT_LT(*least, 0.5);
  EXPECT_GT(*most, 24.5);
  EXPECT_LT(*most, 25.5 * (1 + 5 / std::sqrt(2.0 * 4096)));
  // Uniform: mean 12.75 and deviation 25.5 / sqrt(12) = 7.36, which 400 draws
  // give to 0.37 and 0.17.
  const Moments m = moments_of(deviations);
  EXPECT_NEAR(m.mean, 12.75, 5 * 0.37);
  EXPECT_NEAR(m.deviation, 7.36, 5 * 0.17);
}

TEST(GaussianNoiseCorruption, IsNormalAndOwnToEachPixelNotToEachChannel) {
  const GaussianNoiseCorruption part;
  const Image grey = flat_picture(100, 100, 3, 128);
  // The first picture whose noise is strong enough to measure.
  Image noisy;
  Moments m;
  for (int64_t i = 0; m.deviation < 15.0; ++i) {
    noisy = corrupt(part, "gaussian_noise", grey, 2, i);
    m = moments_of({noisy.pixels.begin(), noisy.pixels.end()});
  }
  double neighbours = 0.0;
  double fourth = 0.0;
  const size_t pixels = noisy.pixels.size() / 3 - 1;
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* pixel = noisy.pixels.data() + 3 * i;
    ASSERT_EQ(pixel[0], pixel[1]);
    ASSERT_EQ(pixel[0], pixel[2]);
    const double x = (pixel[0] - m.mean) / m.deviation;
    neighbours += x * (pixel[3] - m.mean) / m.deviation;
    fourth += x * x * x * x;
  }
  const auto count = static_cast<double>(pixels);
  const double unit = 5 / std::sqrt(count);
  EXPECT_NEAR(neighbours / count, 0.0, unit);
  EXPECT_NEAR(fourth / count, 3.0, unit * std::sqrt(96.0));
}

TEST(GaussianNoiseCorruption, AddsTheSameToAllChannels) {
  const GaussianNoiseCorruption part;
  Image colours = flat_picture(20, 20, 3, 90);
  for (size_t i = 1; i < colours.pixels.size(); i += 3) colours.pixels[i] = 160;
  const Image noisy = corrupt(part, "gaussian_noise", colours, 4, 1);
  for (size_t i = 0; i < noisy.pixels.size(); i += 3) {
    ASSERT_EQ(noisy.pixels[i] + 70, noisy.pixels[i + 1]);
    ASSERT_EQ(noisy.pixels[i], noisy.pixels[i + 2]);
  }
}

TEST(GaussianNoiseCorruption, Clamps) {
  const GaussianNoiseCorruption part;
  for (const int value : {0, 255}) {
    const Image flat = flat_picture(20, 20, 1, value);
    for (int64_t i = 0; i < 20; ++i) {
      for (const uint8_t pixel :
           corrupt(part, "gaussian_noise", flat, 3, i).pixels) {
        ASSERT_LT(std::abs(pixel - value), 160);
      }
    }
  }
}

TEST(SaltAndPepperCorruption, ReplacesOnePixelInTwentyByBlackOrWhite) {
  const SaltAndPepperCorruption part;
  const Image grey = flat_picture(100, 100, 3, 77);
  int black = 0;
  int white = 0;
  constexpr int kPictures = 20;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Image result = corrupt(part, "salt_and_pepper", grey, 4, i);
    int changed = 0;
    for (size_t p = 0; p < result.pixels.size(); p += 3) {
      const uint8_t value = result.pixels[p];
      ASSERT_EQ(result.pixels[p + 1], value);
      ASSERT_EQ(result.pixels[p + 2], value);
      ASSERT_TRUE(value == 77 || value == 0 || value == 255);
      black += value == 0;
      white += value == 255;
      changed += value != 77;
    }
    // 10 000 pixels: 500, with a deviation of sqrt(500 * 0.95) = 21.8.
    EXPECT_NEAR(changed, 500, 5 * 21.8);
  }
  const double total = kPictures * 500.0;
  EXPECT_NEAR(black + white, total, 5 * std::sqrt(total * 0.95));
  EXPECT_NEAR(black - white, 0.0, 5 * std::sqrt(total));
}

TEST(UniformNoiseCorruption, AddsOneValueToAllPixels) {
  const UniformNoiseCorruption part;
  const Image grey = flat_picture(5, 4, 3, 100);
  std::set<int> seen;
  double sum = 0.0;
  constexpr int kPictures = 2000;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Image result = corrupt(part, "uniform_noise", grey, 5, i);
    for (const uint8_t pixel : result.pixels) {
      ASSERT_EQ(pixel, result.pixels[0]);
    }
    seen.insert(result.pixels[0] - 100);
    sum += result.pixels[0] - 100;
  }
  // Each of the 101 values comes about 20 times.
  EXPECT_EQ(seen.size(), 101u);
  EXPECT_EQ(*seen.begin(), -50);
  EXPECT_EQ(*seen.rbegin(), 50);
  EXPECT_NEAR(sum / kPictures, 0.0, 5 * 29.15 / std::sqrt(kPictures));
}

TEST(UniformNoiseCorruption, Clamps) {
  const UniformNoiseCorruption part;
  Image image(2, 1, 1);
  image.pixels = {10, 245};
  for (int64_t i = 0; i < 200; ++i) {
    const Image result = corrupt(part, "uniform_noise", image, 6, i);
    EXPECT_LE(std::abs(result.pixels[0] - 10), 50);
    EXPECT_LE(std::abs(result.pixels[1] - 245), 50);
    EXPECT_LE(result.pixels[0], result.pixels[1]);
  }
}

}  // namespace
}  // namespace kith
