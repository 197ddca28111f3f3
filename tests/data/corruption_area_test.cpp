// The measured statistics of cutout and dropout.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kith/data/corruptions.h"
#include "tests/support/pictures.h"

namespace kith {
namespace {

constexpr int kWidth = 100;
constexpr int kHeight = 80;

Image white() { return flat_picture(kWidth, kHeight, 1, 255); }

// The pixels of a value, and the rectangle around them.
struct Region {
  int count = 0;
  int left = kWidth;
  int top = kHeight;
  int right = -1;
  int bottom = -1;

  Region(const Image& image, int value) {
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        if (image.row(y)[x] != value) continue;
        ++count;
        left = std::min(left, x);
        top = std::min(top, y);
        right = std::max(right, x);
        bottom = std::max(bottom, y);
      }
    }
  }
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

int count_of(const Image& image, int value) {
  return static_cast<int>(
      std::count(image.pixels.begin(), image.pixels.end(), value));
}

TEST(CutoutCorruption, EachRectangleHasAFifthOfEachSide) {
  const CutoutCorruption part({.count = 1});
  for (int64_t i = 0; i < 100; ++i) {
    const Image result = corrupt(part, "cutout", white(), 1, i);
    const Region grey(result, 128);
    EXPECT_EQ(grey.width(), kWidth / 5);
    EXPECT_EQ(grey.height(), kHeight / 5);
    // 4% of the area.
    EXPECT_EQ(grey.count, kWidth * kHeight / 25);
    EXPECT_EQ(count_of(result, 255), kWidth * kHeight - grey.count);
  }
}

TEST(CutoutCorruption, HasAtLeastOnePixel) {
  const CutoutCorruption part({.count = 1, .size = 0.01});
  const Image image = flat_picture(9, 3, 1, 255);
  EXPECT_EQ(count_of(corrupt(part, "cutout", image, 1, 0), 128), 1);
}

TEST(CutoutCorruption, TwoRectanglesMayOverlap) {
  const CutoutCorruption part;
  constexpr int kEach = kWidth * kHeight / 25;
  int apart = 0;
  int overlapping = 0;
  for (int64_t i = 0; i < 300; ++i) {
    const Image result = corrupt(part, "cutout", white(), 2, i);
    const int grey = count_of(result, 128);
    EXPECT_EQ(count_of(result, 255), kWidth * kHeight - grey);
    EXPECT_GE(grey, kEach);
    EXPECT_LE(grey, 2 * kEach);
    apart += grey == 2 * kEach;
    overlapping += grey < 2 * kEach;
  }
  // Places that are less than 20 of 81 columns, and 16 of 65 rows, apart:
  // probability 0.4236 * 0.4201.
  EXPECT_NEAR(overlapping, 300 * 0.178, 5 * std::sqrt(300 * 0.178 * 0.822));
  EXPECT_GT(apart, 0);
}

TEST(CutoutCorruption, LiesAnywhere) {
  const CutoutCorruption part({.count = 1});
  double centre_x = 0.0;
  double centre_y = 0.0;
  Region reached(corrupt(part, "cutout", white(), 3, 0), 128);
  constexpr int kPictures = 400;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Region grey(corrupt(part, "cutout", white(), 3, i), 128);
    centre_x += (grey.left + grey.right) / 2.0 / kPictures;
    centre_y += (grey.top + grey.bottom) / 2.0 / kPictures;
    reached.left = std::min(reached.left, grey.left);
    reached.right = std::max(reached.right, grey.right);
    reached.top = std::min(reached.top, grey.top);
    reached.bottom = std::max(reached.bottom, grey.bottom);
  }
  // A rectangle has 0.8 of a side to move in: deviation 0.8 / sqrt(12)
  // of the side.
  const double unit = 5 * 0.231 / std::sqrt(kPictures);
  EXPECT_NEAR(centre_x, (kWidth - 1) / 2.0, unit * kWidth);
  EXPECT_NEAR(centre_y, (kHeight - 1) / 2.0, unit * kHeight);
  EXPECT_EQ(reached.left, 0);
  EXPECT_EQ(reached.top, 0);
  EXPECT_EQ(reached.right, kWidth - 1);
  EXPECT_EQ(reached.bottom, kHeight - 1);
}

// Rows (or columns) that differ from the one before.
int changes(const Image& image, bool down) {
  int count = 0;
  const int lines = down ? image.height : image.width;
  const int across = down ? image.width : image.height;
  for (int i = 1; i < lines; ++i) {
    bool differs = false;
    for (int j = 0; j < across; ++j) {
      differs |= down ? image.row(i)[j] != image.row(i - 1)[j]
                      : image.row(j)[i] != image.row(j)[i - 1];
    }
    count += differs;
  }
  return count;
}

TEST(DropoutCorruption, DropsCellsOfACoarseGrid) {
  const DropoutCorruption part;
  double share = 0.0;
  double square = 0.0;
  int most_changes = 0;
  constexpr int kPictures = 800;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Image result = corrupt(part, "dropout", white(), 4, i);
    const int black = count_of(result, 0);
    ASSERT_EQ(count_of(result, 255), kWidth * kHeight - black);
    const double dropped = static_cast<double>(black) / (kWidth * kHeight);
    share += dropped / kPictures;
    square += dropped * dropped / kPictures;
    // A quarter as many cells as pixels at most, each way.
    ASSERT_LE(changes(result, true), kHeight / 4);
    ASSERT_LE(changes(result, false), kWidth / 4);
    most_changes = std::max(most_changes, changes(result, false));
  }
  const double deviation = std::sqrt(square - share * share);
  EXPECT_NEAR(share, 0.025, 5 * deviation / std::sqrt(kPictures));
  EXPECT_LT(deviation, 0.05);
  EXPECT_GT(most_changes, 10);
}

TEST(DropoutCorruption, ShareIsTheProbabilityOfACell) {
  // 20 x 16 cells of 5 x 5 pixels.
  const DropoutCorruption part({.cells = {0.2, 0.2}});
  int most = 0;
  int none = 0;
  constexpr int kPictures = 300;
  for (int64_t i = 0; i < kPictures; ++i) {
    const Image result = corrupt(part, "dropout", white(), 5, i);
    const int black = count_of(result, 0);
    ASSERT_EQ(black % 25, 0);
    most = std::max(most, black / 25);
    none += black == 0;
  }
  // At most 0.05 of 320 cells, with a deviation of 3.9; none has probability
  // (1 - p)^320, on average over p about 1 / 16.
  EXPECT_LT(most, 16 + 5 * 3.9);
  EXPECT_GT(most, 12);
  EXPECT_NEAR(none, kPictures / 16.0, 5 * std::sqrt(kPictures / 16.0));
}

TEST(DropoutCorruption, DropsAllChannels) {
  const DropoutCorruption part({.max_share = 1, .cells = {0.5, 0.5}});
  const Image result =
      corrupt(part, "dropout", flat_picture(12, 10, 3, 9), 6, 0);
  for (size_t p = 0; p < result.pixels.size(); p += 3) {
    EXPECT_EQ(result.pixels[p], result.pixels[p + 1]);
    EXPECT_EQ(result.pixels[p], result.pixels[p + 2]);
  }
  EXPECT_GT(count_of(result, 0), 0);
}

}  // namespace
}  // namespace kith
