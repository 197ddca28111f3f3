#include "kith/image/picture_grid.h"

#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/support/pictures.h"

namespace kith {
namespace {

std::array<int, 3> colour(const Image& image, int x, int y) {
  const uint8_t* p = image.row(y) + 3 * x;
  return {p[0], p[1], p[2]};
}

using Colour = std::array<int, 3>;
constexpr Colour kWhite = {255, 255, 255};

TEST(PictureGrid, ScalesAndCentresEachPicture) {
  // A wide grey one, a tall RGB one; a second row with a gap and one square.
  const Image grid =
      picture_grid({{flat_picture(40, 20, 1, 50), flat_picture(5, 10, 3, 90)},
                    {Image(), flat_picture(1, 1, 3, 0)}},
                   20);
  // Gaps of 4 around cells of 20.
  EXPECT_EQ(grid.width, 4 + 24 * 2);
  EXPECT_EQ(grid.height, 4 + 24 * 2);
  EXPECT_EQ(grid.channels, 3);
  int counts[3] = {};
  for (int y = 0; y < grid.height; ++y) {
    for (int x = 0; x < grid.width; ++x) {
      Colour expected = kWhite;
      // Columns 4 to 23 and 28 to 47, rows alike.
      if (x >= 4 && x < 24 && y >= 9 && y < 19) expected = {50, 50, 50};
      if (x >= 33 && x < 43 && y >= 4 && y < 24) expected = {90, 90, 90};
      if (x >= 28 && x < 48 && y >= 28 && y < 48) expected = {0, 0, 0};
      ASSERT_EQ(colour(grid, x, y), expected) << x << ", " << y;
      counts[0] += expected[0] == 50;
      counts[1] += expected[0] == 90;
      counts[2] += expected[0] == 0;
    }
  }
  EXPECT_EQ(counts[0], 200);
  EXPECT_EQ(counts[1], 200);
  EXPECT_EQ(counts[2], 400);
}

TEST(PictureGrid, AcceptsRowsOfUnequalLengthAndThinPictures) {
  const Image grid = picture_grid(
      {{}, {flat_picture(1, 500, 1, 7), Image(), flat_picture(3, 3, 1, 8)}},
      10);
  EXPECT_EQ(grid.width, 4 + 14 * 3);
  EXPECT_EQ(grid.height, 4 + 14 * 2);
  EXPECT_EQ(colour(grid, 8, 18), (Colour{7, 7, 7}));
  EXPECT_EQ(colour(grid, 7, 18), kWhite);
  EXPECT_EQ(colour(grid, 9, 18), kWhite);
}

TEST(PictureGrid, NeedsACell) {
  EXPECT_THROW(picture_grid({}, 10), std::logic_error);
  EXPECT_THROW(picture_grid({{}}, 10), std::logic_error);
  EXPECT_THROW(picture_grid({{Image()}}, 0), std::logic_error);
}

}  // namespace
}  // namespace kith
