#include "kith/eval/examples_picture.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/torch/memory_set.h"

namespace kith {
namespace {

using Colour = std::array<int, 3>;

Colour at(const Image& image, int x, int y) {
  const uint8_t* pixel = image.row(y) + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

bool is_grey(const Colour& c) { return c[0] == c[1] && c[1] == c[2]; }

TEST(GalleryPicture, FramesWhatIsRightGreenAndWhatIsWrongRed) {
  const MemorySet data(paired_items(6, Split::kTest));
  const Image picture = examples_picture(
      data, {0, 2}, {{{1, 0.9, true}, {3, 0.5, false}}, {{3, 0.8, true}}}, 32);
  // Cells of 32 with gaps of 4: three columns, two rows.
  EXPECT_EQ(picture.width, 4 + 3 * 36);
  EXPECT_EQ(picture.height, 4 + 2 * 36);
  ASSERT_EQ(picture.channels, 3);
  const Colour white = {255, 255, 255};
  EXPECT_EQ(at(picture, 4, 4), white);    // the query has no frame
  EXPECT_EQ(at(picture, 76, 40), white);  // nothing found there
  const Colour right = at(picture, 40, 4);
  const Colour wrong = at(picture, 76, 4);
  EXPECT_GT(right[1], right[0] + 80);
  EXPECT_GT(wrong[0], wrong[1] + 80);
  EXPECT_EQ(at(picture, 40, 40), right);
  // The frame is two pixels wide all around, and the picture is within.
  EXPECT_EQ(at(picture, 71, 35), right);
  EXPECT_EQ(at(picture, 41, 5), right);
  EXPECT_TRUE(is_grey(at(picture, 42, 6)));
  EXPECT_TRUE(is_grey(at(picture, 56, 20)));
}

}  // namespace
}  // namespace kith
