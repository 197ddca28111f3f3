#include "kith/data/augment.h"

#include <string>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/augmentations.h"
#include "kith/data/glyphs.h"
#include "kith/image/affine.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

Augmentations steps(const std::string& yaml) {
  return make_augmentations(parse_config(yaml, "r.yaml"));
}

Image apply(const Augmentations& augmentations, Image image, Rng rng) {
  for (const auto& step : augmentations) image = step->apply(image, rng);
  return image;
}

Image apply(const Augmentation& step, const Image& image, Rng rng) {
  return step.apply(image, rng);
}

TEST(AffineAugmentation, DoesNothingWhenAllIsZero) {
  const AffineAugmentation none(
      {.degrees = 0, .scale = 0, .shear = 0, .translate = 0});
  for (int64_t i = 0; i < 5; ++i) {
    const Image image = draw_glyph(0, i, i);
    EXPECT_EQ(apply(none, image, Rng(1, Stream::kAugment, {i})).pixels,
              image.pixels);
  }
}

TEST(AffineAugmentation, DependsOnTheKeyAlone) {
  const AffineAugmentation affine;
  const Image image = draw_glyph(0, 1, 2);
  const Rng key(1, Stream::kAugment, {3, 4, 5});
  const Rng other(1, Stream::kAugment, {3, 4, 6});
  const Image first = apply(affine, image, key);
  EXPECT_EQ(first.width, image.width);
  EXPECT_EQ(first.height, image.height);
  EXPECT_NE(first.pixels, image.pixels);
  EXPECT_NE(apply(affine, image, other).pixels, first.pixels);
  EXPECT_EQ(apply(affine, image, key).pixels, first.pixels);
  EXPECT_EQ(apply(AffineAugmentation(), image, key).pixels, first.pixels);
}

TEST(AffineAugmentation, WarpsOntoTheColourOfThePaper) {
  const AffineAugmentation affine(
      {.degrees = 30, .scale = 0.2, .shear = 10, .translate = 0.1});
  const Image image = draw_glyph(0, 3, 0);
  Rng rng(7, Stream::kAugment, {1});
  const Affine map =
      random_affine(rng, {30.0, 0.2, 10.0, 0.1}, image.width, image.height);
  EXPECT_EQ(apply(affine, image, Rng(7, Stream::kAugment, {1})).pixels,
            warp_affine(image, map, border_grey(image)).pixels);
}

TEST(AffineAugmentation, LeavesAFlatPictureFlat) {
  Image image(9, 5, 3);
  for (uint8_t& pixel : image.pixels) pixel = 77;
  const AffineAugmentation affine({.degrees = 180});
  EXPECT_EQ(apply(affine, image, Rng(0, Stream::kAugment)).pixels,
            image.pixels);
}

TEST(MakeAugmentations, KeepsTheOrderAndOneStream) {
  const Augmentations two =
      steps("[{name: affine, degrees: 40}, {name: affine, translate: 0.3}]");
  ASSERT_EQ(two.size(), 2u);
  const Image image = draw_glyph(0, 5, 0);
  Rng rng(1, Stream::kAugment);
  const Image once = two[0]->apply(image, rng);
  EXPECT_EQ(two[1]->apply(once, rng).pixels,
            apply(two, image, Rng(1, Stream::kAugment)).pixels);
  EXPECT_TRUE(steps("[]").empty());
}

TEST(MakeAugmentations, NamesTheStepOfAnError) {
  expect_error<ConfigError>(
      [] { steps("- {name: affine}\n- {name: affine, degres: 5}\n"); },
      "r.yaml:2", "augment.1.degres", "'degrees'");
  expect_error<ConfigError>([] { steps("- {name: affin}\n"); }, "r.yaml:1",
                            "unknown augmentation 'affin'", "'affine'");
  expect_error<ConfigError>([] { steps("- {name: affine, scale: 1}\n"); },
                            "augment.0.scale", "[0, 0.9]");
}

}  // namespace
}  // namespace kith
