#include "kith/image/warp.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "kith/image/orientation.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

Corner mapped(const Homography& m, double x, double y) {
  const double w = m.g * x + m.h * y + 1.0;
  return {(m.a * x + m.b * y + m.c) / w, (m.d * x + m.e * y + m.f) / w};
}

TEST(WarpMirrored, IdentityKeepsEveryPixel) {
  for (const int channels : {1, 3}) {
    const Image image = noise_picture(13, 7, channels);
    EXPECT_EQ(warp_mirrored(image, Homography{}).pixels, image.pixels);
  }
}

TEST(WarpMirrored, ContinuesByMirrorsWithTheEdgePixel) {
  Image image(3, 1, 1);
  image.pixels = {10, 20, 30};
  const auto shifted = [&](double by) {
    Homography map;
    map.c = by;
    return warp_mirrored(image, map).pixels;
  };
  EXPECT_EQ(shifted(3), (std::vector<uint8_t>{30, 20, 10}));
  EXPECT_EQ(shifted(-2), (std::vector<uint8_t>{20, 10, 10}));
  EXPECT_EQ(shifted(6), image.pixels);
  EXPECT_EQ(shifted(-6000), image.pixels);
  EXPECT_EQ(shifted(0.5), (std::vector<uint8_t>{15, 25, 30}));
}

TEST(WarpMirrored, QuarterTurnsEqualRotate90) {
  const Image image = noise_picture(9, 9, 3);
  EXPECT_EQ(warp_mirrored(image, rotation(90, 9, 9)).pixels,
            rotate90(image, 1).pixels);
  EXPECT_EQ(warp_mirrored(image, rotation(-90, 9, 9)).pixels,
            rotate90(image, -1).pixels);
}

TEST(Rotation, TurnsAboutTheCentre) {
  const Homography map = rotation(25, 60, 40);
  const Corner centre = mapped(map, 30, 20);
  EXPECT_NEAR(centre.x, 30, 1e-12);
  EXPECT_NEAR(centre.y, 20, 1e-12);
  const Corner other = mapped(map, 33, 24);
  EXPECT_NEAR(std::hypot(other.x - 30, other.y - 20), 5.0, 1e-12);
}

TEST(RectangleTo, SendsTheCornersAndKeepsLines) {
  const std::array<Corner, 4> corners = {Corner{1, 2}, Corner{18, 0.5},
                                         Corner{16, 9}, Corner{3, 7}};
  const Homography map = rectangle_to(corners, 20, 10);
  const std::array<Corner, 4> rectangle = {Corner{0, 0}, Corner{20, 0},
                                           Corner{20, 10}, Corner{0, 10}};
  for (size_t i = 0; i < 4; ++i) {
    const Corner p = mapped(map, rectangle[i].x, rectangle[i].y);
    EXPECT_NEAR(p.x, corners[i].x, 1e-12);
    EXPECT_NEAR(p.y, corners[i].y, 1e-12);
  }
  // The diagonals meet at the image of the centre.
  const Corner centre = mapped(map, 10, 5);
  for (const size_t i : {0u, 1u}) {
    const Corner& p = corners[i];
    const Corner& q = corners[i + 2];
    EXPECT_NEAR((centre.x - p.x) * (q.y - p.y) - (centre.y - p.y) * (q.x - p.x),
                0.0, 1e-10);
  }
}

}  // namespace
}  // namespace kith
