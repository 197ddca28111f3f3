// The steps for photographs: crops, flips and colours.
#include <cmath>
#include <typeinfo>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/augmentations.h"
#include "kith/image/colour.h"
#include "kith/image/resize.h"
#include "tests/support/expect_error.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

Image apply(const Augmentation& step, const Image& image, int64_t key = 0) {
  Rng rng(0, Stream::kAugment, {key});
  return step.apply(image, rng);
}

void expect_equal(const Image& a, const Image& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.pixels, b.pixels);
}

TEST(AugmentationSteps, DependOnTheKeyAlone) {
  const Image image = noise_picture(40, 30, 3);
  const RandomResizedCropAugmentation part({.size = 16});
  const RandomCropAugmentation square({.size = 9});
  const ColourJitterAugmentation jitter({.hue = 0.2});
  const FlipAugmentation flip;
  const GreyAugmentation grey;
  for (const Augmentation* step : std::vector<const Augmentation*>{
           &part, &square, &jitter, &flip, &grey}) {
    bool varies = false;
    for (int64_t key = 0; key < 40; ++key) {
      const Image first = apply(*step, image, key);
      expect_equal(apply(*step, image, key), first);
      varies = varies || first.pixels != apply(*step, image, key + 1).pixels;
    }
    EXPECT_TRUE(varies) << typeid(*step).name();
  }
}

TEST(RandomResizedCrop, IsCropAndResize) {
  const Image image = noise_picture(90, 70, 3);
  for (int64_t key = 0; key < 20; ++key) {
    Rng rng(0, Stream::kAugment, {key});
    const Box box = random_box(90, 70, {{0.2, 0.9}, {0.5, 3.0}}, rng);
    expect_equal(apply(RandomResizedCropAugmentation({.size = 32,
                                                      .scale = {0.2, 0.9},
                                                      .ratio = {0.5, 3},
                                                      .filter = "bicubic"}),
                       image, key),
                 resize(crop(image, box), 32, 32, Filter::kBicubic));
  }
}

TEST(RandomResizedCrop, TakesAnyPicture) {
  for (const auto& [width, height] :
       {std::pair{1, 1}, {1, 500}, {500, 1}, {2, 3}}) {
    const Image result = apply(RandomResizedCropAugmentation({.size = 8}),
                               noise_picture(width, height, 1), width);
    EXPECT_EQ(result.width, 8);
    EXPECT_EQ(result.height, 8);
  }
}

TEST(RandomResizedCrop, ChecksItsRanges) {
  for (const std::vector<double>& range :
       std::vector<std::vector<double>>{{0.5}, {0.9, 0.5}, {0.1, 0.2, 0.3}}) {
    expect_error<ConfigError>(
        [&] { RandomResizedCropAugmentation step({.scale = range}); },
        "'scale' needs two values");
    expect_error<ConfigError>(
        [&] { RandomResizedCropAugmentation step({.ratio = range}); },
        "'ratio' needs two values");
  }
  expect_error<ConfigError>(
      [] {
        RandomResizedCropAugmentation step({.scale = {0, 1}});
      },
      "random_resized_crop.scale", "greater than 0");
  expect_error<ConfigError>(
      [] { RandomResizedCropAugmentation step({.filter = "lanczos"}); },
      "bilinear, bicubic");
}

TEST(Flip, MirrorsRowsWithItsProbability) {
  Image image(3, 2, 3);
  for (size_t i = 0; i < 18; ++i) image.pixels[i] = static_cast<uint8_t>(i);
  Image mirrored(3, 2, 3);
  mirrored.pixels = {6,  7,  8,  3,  4,  5,  0, 1,  2,
                     15, 16, 17, 12, 13, 14, 9, 10, 11};
  expect_equal(apply(FlipAugmentation({.p = 0}), image), image);
  expect_equal(apply(FlipAugmentation({.p = 1}), image), mirrored);
  for (const double p : {0.5, 0.2}) {
    const FlipAugmentation flip({.p = p});
    int flips = 0;
    for (int64_t key = 0; key < 4000; ++key) {
      Rng rng(0, Stream::kAugment, {key});
      const Image result = flip.apply(image, rng);
      flips += result.pixels == mirrored.pixels ? 1 : 0;
    }
    EXPECT_NEAR(flips / 4000.0, p,
                4.0 * std::sqrt(p * (1.0 - p) / 4000.0));  // standard errors
  }
}

TEST(Grey, TakesTheColour) {
  const Image image = noise_picture(5, 4, 3);
  expect_equal(apply(GreyAugmentation({.p = 0}), image), image);
  expect_equal(apply(GreyAugmentation({.p = 1}), image),
               to_channels(to_channels(image, 1), 3));
  expect_equal(apply(GreyAugmentation({.p = 1}), noise_picture(5, 4, 1)),
               noise_picture(5, 4, 1));
}

TEST(CenterCrop, CutsOrAddsABorder) {
  const Image image = noise_picture(9, 6, 3);
  expect_equal(apply(CenterCropAugmentation({.size = 4}), image),
               crop(image, {2, 1, 6, 5}));
  expect_equal(apply(CenterCropAugmentation({.size = 7}), image),
               crop(image, {1, 0, 8, 7}));
}

TEST(RandomCrop, NeedsALargerPicture) {
  const Image image = noise_picture(9, 6, 1);
  for (int64_t key = 0; key < 30; ++key) {
    const Image part = apply(RandomCropAugmentation({.size = 6}), image, key);
    bool found = false;
    for (int left = 0; left <= 3; ++left) {
      found =
          found || part.pixels == crop(image, {left, 0, left + 6, 6}).pixels;
    }
    EXPECT_TRUE(found);
  }
  expect_error<DataError>(
      [&] { apply(RandomCropAugmentation({.size = 7}), image); }, "9 x 6",
      "'size' (7)", "'resize'");
}

TEST(ResizeStep, KeepsTheShape) {
  const Image image = noise_picture(30, 20, 3);
  expect_equal(apply(ResizeAugmentation({.size = 13}), image),
               resize(image, 19, 13));
  expect_equal(
      apply(ResizeAugmentation({.size = 40, .filter = "bicubic"}), image),
      resize(image, 60, 40, Filter::kBicubic));
  expect_error<DataError>(
      [] { apply(ResizeAugmentation({.size = 8192}), Image(65'535, 1, 1)); },
      "65535 x 1", "at most");
}

TEST(ColourJitter, MakesItsChangesInRandomOrder) {
  const Image image = noise_picture(12, 10, 3);
  int orders[2] = {0, 0};
  for (int64_t key = 0; key < 200; ++key) {
    Rng rng(0, Stream::kAugment, {key});
    const double brightness = rng.uniform(0.5, 1.5);
    const double contrast = rng.uniform(0.0, 2.5);
    Image first = image;
    adjust_brightness(first, brightness);
    adjust_contrast(first, contrast);
    Image second = image;
    adjust_contrast(second, contrast);
    adjust_brightness(second, brightness);
    const Image result =
        apply(ColourJitterAugmentation(
                  {.brightness = 0.5, .contrast = 1.5, .saturation = 0}),
              image, key);
    ASSERT_TRUE(result.pixels == first.pixels ||
                result.pixels == second.pixels);
    ++orders[result.pixels == first.pixels ? 0 : 1];
  }
  EXPECT_GT(orders[0], 60);
  EXPECT_GT(orders[1], 60);
}

TEST(ColourJitter, CanBeNothing) {
  const Image image = noise_picture(12, 10, 3);
  expect_equal(apply(ColourJitterAugmentation(
                         {.brightness = 0, .contrast = 0, .saturation = 0}),
                     image),
               image);
  const Image grey = noise_picture(12, 10, 1);
  expect_equal(
      apply(ColourJitterAugmentation(
                {.brightness = 0, .contrast = 0, .saturation = 1, .hue = 0.5}),
            grey),
      grey);
  expect_error<ConfigError>([] { ColourJitterAugmentation step({.hue = 0.6}); },
                            "colour_jitter.hue", "[0, 0.5]");
}

}  // namespace
}  // namespace kith
