#include "kith/image/affine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "kith/image/orientation.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

bool all_equal(const Image& image, int value) {
  return std::all_of(image.pixels.begin(), image.pixels.end(),
                     [value](uint8_t pixel) { return pixel == value; });
}

TEST(WarpAffine, IdentityKeepsEveryPixel) {
  for (int channels : {1, 3}) {
    const Image image = pattern_picture(13, 7, channels);
    EXPECT_EQ(warp_affine(image, Affine{}, 99).pixels, image.pixels);
    EXPECT_EQ(warp_affine(image, Affine{}, 0, Edge::kReplicate).pixels,
              image.pixels);
  }
}

TEST(WarpAffine, ShiftsByWholePixelsAndFills) {
  const Image image = pattern_picture(5, 4, 3);
  Affine map;
  map.c = -2.0;  // the result at x shows the source at x - 2
  map.f = 1.0;
  const Image moved = warp_affine(image, map, 77);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c) {
        const bool inside = x >= 2 && y + 1 < 4;
        const int expected =
            inside ? image.row(y + 1)[(x - 2) * 3 + c] : int{77};
        EXPECT_EQ(moved.row(y)[x * 3 + c], expected);
      }
    }
  }
}

TEST(WarpAffine, ReplicatesTheNearestPixel) {
  const Image image = pattern_picture(5, 4, 1);
  Affine map;
  map.c = -2.0;
  const Image moved = warp_affine(image, map, 77, Edge::kReplicate);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) {
      EXPECT_EQ(moved.row(y)[x], image.row(y)[std::max(0, x - 2)]);
    }
  }
}

TEST(WarpAffine, InterpolatesBetweenPixels) {
  Image image(2, 2, 1);
  image.pixels = {0, 100, 200, 40};
  Affine map;
  map.c = 0.25;
  // 0.75 * left + 0.25 * right; the right neighbour of the last is the fill.
  EXPECT_EQ(warp_affine(image, map, 20).pixels,
            (std::vector<uint8_t>{25, 80, 160, 35}));
}

TEST(WarpAffine, QuarterTurnsEqualRotate90) {
  const Image image = pattern_picture(9, 9, 3);
  // Counterclockwise: the result at (x, y) shows the source at (9 - y, x).
  const Affine turn{0.0, -1.0, 9.0, 1.0, 0.0, 0.0};
  const Affine half{-1.0, 0.0, 9.0, 0.0, -1.0, 9.0};
  EXPECT_EQ(warp_affine(image, turn, 0).pixels, rotate90(image, 1).pixels);
  EXPECT_EQ(warp_affine(image, half, 0).pixels, rotate90(image, 2).pixels);
}

TEST(WarpAffine, ShowsOnlyFillFarOutside) {
  const Image image = pattern_picture(6, 6, 1);
  Affine map;
  map.c = 1e30;
  map.f = -1e30;
  EXPECT_TRUE(all_equal(warp_affine(image, map, 31), 31));
  EXPECT_TRUE(all_equal(warp_affine(image, map, 31, Edge::kReplicate),
                        image.row(0)[5]));
}

TEST(BorderGrey, IsTheMedianOfTheOutermostPixels) {
  Image image(5, 4, 1);
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{10});
  for (int x = 0; x < 5; ++x) image.row(0)[x] = image.row(3)[x] = 230;
  image.row(1)[0] = 0;
  EXPECT_EQ(border_grey(image), 230);
  EXPECT_EQ(border_grey(Image()), 0);
  EXPECT_EQ(border_grey(Image(1, 1, 3)), 0);
}

TEST(RandomAffine, SameKeyGivesTheSameMap) {
  const AffineRange range{15.0, 0.2, 10.0, 0.1};
  Rng first(3, Stream::kAugment, {1, 2});
  Rng second(3, Stream::kAugment, {1, 2});
  Rng other(3, Stream::kAugment, {1, 3});
  const Affine p = random_affine(first, range, 64, 48);
  const Affine q = random_affine(second, range, 64, 48);
  EXPECT_EQ(p.a, q.a);
  EXPECT_EQ(p.b, q.b);
  EXPECT_EQ(p.c, q.c);
  EXPECT_EQ(p.d, q.d);
  EXPECT_EQ(p.e, q.e);
  EXPECT_EQ(p.f, q.f);
  EXPECT_NE(p.a, random_affine(other, range, 64, 48).a);
}

TEST(RandomAffine, NoRangeIsTheIdentity) {
  Rng rng(0, Stream::kAugment);
  const Image image = pattern_picture(12, 10, 1);
  const Affine map = random_affine(rng, AffineRange{}, 12, 10);
  EXPECT_EQ(warp_affine(image, map, 0).pixels, image.pixels);
}

TEST(RandomAffine, RotatesAboutTheCentreWithinTheRange) {
  Rng rng(1, Stream::kAugment);
  double widest = 0.0;
  for (int i = 0; i < 500; ++i) {
    const Affine map = random_affine(rng, {20.0, 0.0, 0.0, 0.0}, 60, 40);
    const double degrees =
        std::abs(std::atan2(map.b, map.a)) * 180.0 / std::numbers::pi;
    widest = std::max(widest, degrees);
    EXPECT_NEAR(map.a * map.e - map.b * map.d, 1.0, 1e-12);
    EXPECT_NEAR(map.a * 30.0 + map.b * 20.0 + map.c, 30.0, 1e-9);
    EXPECT_NEAR(map.d * 30.0 + map.e * 20.0 + map.f, 20.0, 1e-9);
  }
  EXPECT_LE(widest, 20.0 + 1e-9);
  EXPECT_GT(widest, 19.0);
}

TEST(RandomAffine, ScalesShearsAndMovesWithinTheRange) {
  Rng rng(2, Stream::kAugment);
  const double slant = std::tan(10.0 * std::numbers::pi / 180.0);
  for (int i = 0; i < 500; ++i) {
    const Affine scaled = random_affine(rng, {0.0, 0.25, 0.0, 0.0}, 60, 40);
    EXPECT_EQ(scaled.a, scaled.e);
    EXPECT_GE(1.0 / scaled.a, 0.75 - 1e-12);
    EXPECT_LE(1.0 / scaled.a, 1.25 + 1e-12);
    const Affine sheared = random_affine(rng, {0.0, 0.0, 10.0, 0.0}, 60, 40);
    EXPECT_EQ(sheared.a, 1.0);
    EXPECT_LE(std::abs(sheared.b), slant + 1e-12);
    const Affine moved = random_affine(rng, {0.0, 0.0, 0.0, 0.1}, 60, 40);
    EXPECT_LE(std::abs(moved.c), 6.0 + 1e-9);
    EXPECT_LE(std::abs(moved.f), 4.0 + 1e-9);
  }
}

}  // namespace
}  // namespace kith
