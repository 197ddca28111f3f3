// The measured statistics of rotation and perspective.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "kith/data/corruptions.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

bool all_white(const Image& image) {
  return std::all_of(image.pixels.begin(), image.pixels.end(),
                     [](uint8_t pixel) { return pixel == 255; });
}

// How far a ramp along the columns, 4 levels a column, is turned: in the result
// of a turn by t it rises by 4 cos t a column and falls by 4 sin t a row.
double measured_degrees(const Image& turned) {
  const int middle = turned.width / 2;
  const int across =
      turned.row(middle)[middle + 12] - turned.row(middle)[middle - 12];
  const int down =
      turned.row(middle + 12)[middle] - turned.row(middle - 12)[middle];
  return std::atan2(-down, across) * 180.0 / std::numbers::pi;
}

TEST(RotationCorruption, AngleIsUniformWithinThirtyDegrees) {
  const RotationCorruption part;
  const Image ramp = ramp_picture(63, 63, 4);
  double mean = 0.0;
  double square = 0.0;
  double most = 0.0;
  constexpr int kPictures = 400;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Image turned = corrupt(part, "rotation", ramp, 1, i);
    // The centre stays.
    EXPECT_NEAR(turned.row(31)[31], ramp.row(31)[31], 1);
    const double degrees = measured_degrees(turned);
    mean += degrees / kPictures;
    square += degrees * degrees / kPictures;
    most = std::max(most, std::abs(degrees));
  }
  // One level of 96 is 0.6 degrees. Uniform: variance 300, whose own deviation
  // is 300 sqrt(0.8).
  EXPECT_LE(most, 30.6);
  EXPECT_GT(most, 29.0);
  EXPECT_NEAR(mean, 0.0, 5 * 17.3 / std::sqrt(kPictures));
  EXPECT_NEAR(square, 300.0, 5 * 268 / std::sqrt(kPictures));
}

TEST(RotationCorruption, HasNoEmptyCorners) {
  const RotationCorruption part;
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_TRUE(all_white(
        corrupt(part, "rotation", flat_picture(40, 23, 3, 255), 2, i)));
  }
}

TEST(RotationCorruption, NoAngleIsTheIdentity) {
  const RotationCorruption part({.max_degrees = 0});
  const Image image = noise_picture(31, 20, 3);
  EXPECT_EQ(corrupt(part, "rotation", image, 3, 0).pixels, image.pixels);
}

// How far inwards the four corner pixels come from along a ramp of 4 levels a
// pixel, as shares of the side.
std::vector<double> corner_moves(const Image& result, bool down) {
  const int last = result.width - 1;
  std::vector<double> moves;
  for (const int y : {0, last}) {
    for (const int x : {0, last}) {
      const double place = result.row(y)[x] / 4.0;
      const bool far = (down ? y : x) == last;
      moves.push_back((far ? last - place : place) / result.width);
    }
  }
  return moves;
}

TEST(PerspectiveCorruption, CornersMoveInwardsByTheScale) {
  const PerspectiveCorruption part;
  double mean = 0.0;
  double most = 0.0;
  constexpr int kPictures = 300;
  for (int64_t i = 0; i < kPictures; ++i) {
    for (const bool down : {false, true}) {
      const Image result =
          corrupt(part, "perspective", ramp_picture(64, 64, 4, down), 4, i);
      for (const double move : corner_moves(result, down)) {
        mean += move / (8 * kPictures);
        most = std::max(most, move);
        EXPECT_GE(move, 0.0);
        EXPECT_LE(move, 0.31);
      }
    }
  }
  // |N(0, s)| has the mean s sqrt(2 / pi), with s on average 0.1: 0.0798. Less
  // 0.0003 for the limit of 0.3, and about 1 % as the corner pixel's centre is
  // half a pixel inside. The deviation of a move is 0.067, of the 8 of one
  // picture together, which share s, 0.033.
  EXPECT_NEAR(mean, 0.079, 5 * 0.033 / std::sqrt(kPictures));
  EXPECT_GT(most, 0.25);
}

TEST(PerspectiveCorruption, ScaleGivesTheDeviation) {
  const PerspectiveCorruption part({.scale = {0.05, 0.05}});
  double square = 0.0;
  constexpr int kPictures = 200;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Image result =
        corrupt(part, "perspective", ramp_picture(64, 64, 4), 5, i);
    for (const double move : corner_moves(result, false)) {
      square += move * move / (4 * kPictures);
    }
  }
  // The square of a normal number has the deviation sqrt(2). The half pixel
  // inside takes up to 2 %.
  EXPECT_NEAR(std::sqrt(square), 0.05, 0.05 * (2.5 / std::sqrt(400) + 0.02));
}

TEST(PerspectiveCorruption, LeavesNoPixelEmpty) {
  const PerspectiveCorruption part;
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_TRUE(all_white(
        corrupt(part, "perspective", flat_picture(40, 23, 3, 255), 6, i)));
  }
}

TEST(PerspectiveCorruption, NoScaleIsTheIdentity) {
  const PerspectiveCorruption part({.scale = {0, 0}});
  const Image image = noise_picture(31, 20, 3);
  EXPECT_EQ(corrupt(part, "perspective", image, 7, 0).pixels, image.pixels);
}

TEST(PerspectiveCorruption, KeepsTheOrderOfTheCornersAtAnyScale) {
  // Nearly every corner at the limit: the ramp still rises everywhere.
  const PerspectiveCorruption part({.scale = {1, 1}});
  for (int64_t i = 0; i < 50; ++i) {
    const Image result =
        corrupt(part, "perspective", ramp_picture(64, 64, 4), 8, i);
    for (int y = 0; y < 64; ++y) {
      EXPECT_TRUE(std::is_sorted(result.row(y), result.row(y) + 64));
    }
  }
}

}  // namespace
}  // namespace kith
