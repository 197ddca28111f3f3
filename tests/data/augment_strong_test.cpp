// Steps that change much of a picture: erasing, blur, RandAugment, multi-crop.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/augmentations.h"
#include "kith/image/blur.h"
#include "kith/image/resize.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

Image strongly(const Augmentation& step, const Image& image, int64_t key = 0) {
  Rng rng(0, Stream::kAugment, {key});
  return step.apply(image, rng);
}

TEST(StrongSteps, DependOnTheKeyAlone) {
  for (const char* name : {"gaussian_blur", "random_erasing", "rand_augment",
                           "multi_crop", "colour_jitter"}) {
    const Augmentations steps = make_augmentations(
        parse_config(std::string("[{name: ") + name + "}]", "test"));
    for (const int channels : {1, 3}) {
      const Image image = noise_picture(40, 30, channels);
      std::set<std::vector<uint8_t>> seen;
      for (int64_t key = 0; key < 40; ++key) {
        const Image first = strongly(*steps[0], image, key);
        EXPECT_EQ(strongly(*steps[0], image, key).pixels, first.pixels);
        EXPECT_EQ(first.channels, channels) << name;
        seen.insert(first.pixels);
      }
      EXPECT_GT(seen.size(), 10u) << name << " " << channels;
    }
  }
}

TEST(StrongSteps, AreNothingWithProbabilityZero) {
  for (const int channels : {1, 3}) {
    const Image image = noise_picture(20, 15, channels);
    for (int64_t key = 0; key < 10; ++key) {
      EXPECT_EQ(strongly(RandomBlurAugmentation({.p = 0}), image, key).pixels,
                image.pixels);
      EXPECT_EQ(
          strongly(RandomErasingAugmentation({.p = 0}), image, key).pixels,
          image.pixels);
      EXPECT_EQ(strongly(ColourJitterAugmentation({.p = 0}), image, key).pixels,
                image.pixels);
      EXPECT_EQ(strongly(RandAugmentAugmentation({.operations = 0}), image, key)
                    .pixels,
                image.pixels);
    }
  }
}

TEST(StrongSteps, TakePicturesOfOnePixel) {
  const Image image = noise_picture(1, 1, 3);
  for (int64_t key = 0; key < 60; ++key) {
    for (const Image& made :
         {strongly(RandomBlurAugmentation({.p = 1}), image, key),
          strongly(RandomErasingAugmentation({.p = 1}), image, key),
          strongly(RandAugmentAugmentation({.operations = 3}), image, key)}) {
      EXPECT_EQ(made.width, 1);
      EXPECT_EQ(made.height, 1);
    }
  }
}

TEST(ColourJitter, DrawsNothingMoreAtProbabilityOne) {
  const Image image = noise_picture(12, 10, 3);
  const ColourJitterAugmentation sometimes({.p = 0.5});
  int changed = 0;
  for (int64_t key = 0; key < 400; ++key) {
    Rng rng(0, Stream::kAugment, {key});
    const bool is_changed = rng.uniform() < 0.5;
    const Image expected =
        is_changed ? ColourJitterAugmentation().apply(image, rng) : image;
    EXPECT_EQ(strongly(sometimes, image, key).pixels, expected.pixels);
    changed += is_changed ? 1 : 0;
  }
  EXPECT_NEAR(changed, 200, 40);
}

TEST(GaussianBlurStep, BlursByADeviationOfItsRange) {
  const Image image = noise_picture(20, 15, 3);
  const RandomBlurAugmentation blur({.p = 1, .sigma = {0.5, 3}});
  for (int64_t key = 0; key < 10; ++key) {
    Rng rng(0, Stream::kAugment, {key});
    rng.uniform();
    EXPECT_EQ(strongly(blur, image, key).pixels,
              gaussian_blur(image, rng.uniform(0.5, 3)).pixels);
  }
  expect_error<ConfigError>(
      [] {
        RandomBlurAugmentation step({.sigma = {0, 1}});
      },
      "gaussian_blur.sigma", "greater than 0");
  expect_error<ConfigError>(
      [] {
        RandomBlurAugmentation step({.sigma = {2, 1}});
      },
      "'sigma' needs two values");
  expect_error<ConfigError>(
      [] {
        RandomBlurAugmentation step({.sigma = {1, 1000}});
      },
      "'sigma'", "100");
}

TEST(RandomErasing, CoversOneRectangleOfItsRange) {
  const Image image = flat_picture(60, 50, 3, 200);
  const RandomErasingAugmentation black(
      {.p = 1, .scale = {0.1, 0.3}, .ratio = {0.5, 2}, .fill = "black"});
  for (int64_t key = 0; key < 50; ++key) {
    const Image made = strongly(black, image, key);
    int left = 60, right = -1, top = 50, bottom = -1, covered = 0;
    for (int y = 0; y < 50; ++y) {
      for (int x = 0; x < 60; ++x) {
        if (made.row(y)[3 * x] != 0) continue;
        left = std::min(left, x);
        right = std::max(right, x);
        top = std::min(top, y);
        bottom = std::max(bottom, y);
        ++covered;
      }
    }
    const int width = right - left + 1;
    const int height = bottom - top + 1;
    EXPECT_EQ(covered, width * height);
    EXPECT_GE(covered / 3000.0, 0.1 * 0.93);  // sides are whole pixels
    EXPECT_LE(covered / 3000.0, 0.3 * 1.07);
    EXPECT_GE(1.0 * height / width, 0.5 * 0.9);
    EXPECT_LE(1.0 * height / width, 2 * 1.1);
  }
}

TEST(RandomErasing, FillsAsItSays) {
  Image image = flat_picture(40, 40, 3, 10);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    image.pixels[i] = i % 2 == 0 ? 100 : 50;  // red: 75 in the mean
  }
  const Image mean =
      strongly(RandomErasingAugmentation({.p = 1, .fill = "mean"}), image, 3);
  std::set<int> reds;
  for (size_t i = 0; i < mean.pixels.size(); i += 3) {
    reds.insert(mean.pixels[i]);
    EXPECT_EQ(mean.pixels[i + 1], 10);
  }
  EXPECT_EQ(reds, (std::set<int>{50, 75, 100}));
  const Image random = strongly(RandomErasingAugmentation({.p = 1}), image, 3);
  std::set<int> greens;
  for (size_t i = 1; i < random.pixels.size(); i += 3) {
    greens.insert(random.pixels[i]);
  }
  EXPECT_GT(greens.size(), 20u);
  expect_error<ConfigError>(
      [] {
        RandomErasingAugmentation step({.scale = {0.1, 1.5}});
      },
      "random_erasing", "'scale'", "at most 1");
  expect_error<ConfigError>(
      [] { RandomErasingAugmentation step({.fill = "white"}); },
      "random_erasing.fill", "random, mean, black");
}

TEST(RandAugment, GrowsWithItsMagnitude) {
  const Image image = [] {
    Image smooth = noise_picture(48, 48, 3);
    return gaussian_blur(smooth, 3);
  }();
  const auto mean_change = [&](double magnitude) {
    const RandAugmentAugmentation step(
        {.operations = 1, .magnitude = magnitude});
    double sum = 0;
    for (int64_t key = 0; key < 100; ++key) {
      const Image made = strongly(step, image, key);
      for (size_t i = 0; i < made.pixels.size(); ++i) {
        sum += std::abs(made.pixels[i] - image.pixels[i]);
      }
    }
    return sum;
  };
  // At 0 only autocontrast and equalize change pictures.
  EXPECT_LT(mean_change(0), mean_change(15));
  EXPECT_LT(mean_change(15), mean_change(30));
  int same = 0;
  for (int64_t key = 0; key < 400; ++key) {
    same += strongly(RandAugmentAugmentation({.operations = 1, .magnitude = 0}),
                     image, key)
                        .pixels == image.pixels
                ? 1
                : 0;
  }
  EXPECT_NEAR(same / 400.0, 12.0 / 14.0, 0.07);
  expect_error<ConfigError>(
      [] { RandAugmentAugmentation step({.magnitude = 31}); },
      "rand_augment.magnitude", "[0, 30]");
}

TEST(MultiCrop, TakesSmallOrLargeParts) {
  const Image image = noise_picture(90, 70, 3);
  const MultiCropAugmentation step({.size = 16});
  int small = 0;
  for (int64_t key = 0; key < 400; ++key) {
    Rng rng(0, Stream::kAugment, {key});
    const bool is_small = rng.uniform() < 0.75;
    RandomBoxRange range;
    range.scale = is_small ? std::array{0.05, 0.14} : std::array{0.14, 1.0};
    const Box box = random_box(90, 70, range, rng);
    ASSERT_EQ(strongly(step, image, key).pixels,
              resize(crop(image, box), 16, 16).pixels);
    small += is_small ? 1 : 0;
  }
  EXPECT_NEAR(small, 300, 40);
  expect_error<ConfigError>(
      [] { MultiCropAugmentation crop_step({.local_scale = {0.5}}); },
      "multi_crop", "'local_scale' needs two values");
}

}  // namespace
}  // namespace kith
