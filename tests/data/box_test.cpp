#include "kith/data/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

/// 3 x 2 pixels of 2 channels: pixel i is 10 i, 10 i + 1.
Image picture() {
  Image image(3, 2, 2);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(10 * (i / 2) + i % 2);
  }
  return image;
}

TEST(CropToBox, CutsOutThePixels) {
  const Image cut = crop_to_box(picture(), {1, 0, 3, 1}, "x");
  EXPECT_EQ(cut.width, 2);
  EXPECT_EQ(cut.height, 1);
  EXPECT_EQ(cut.channels, 2);
  EXPECT_THAT(cut.pixels, ElementsAre(10, 11, 20, 21));
  EXPECT_EQ(crop_to_box(picture(), {0, 0, 3, 2}, "x").pixels, picture().pixels);
}

TEST(CropToBox, ClampsToThePicture) {
  EXPECT_THAT(crop_to_box(picture(), {2, 1, 99, 99}, "x").pixels,
              ElementsAre(50, 51));
  EXPECT_THAT(crop_to_box(picture(), {-7, -7, 1, 1}, "x").pixels,
              ElementsAre(0, 1));
  EXPECT_EQ(
      crop_to_box(picture(), {INT64_MIN, 0, INT64_MAX, 2}, "x").pixels.size(),
      12u);
}

TEST(CropToBox, RefusesABoxOfNothing) {
  for (const Box& box :
       {Box{3, 0, 5, 2}, Box{0, -3, 3, 0}, Box{2, 0, 1, 2}, Box{1, 1, 1, 2}}) {
    expect_error<DataError>([&] { crop_to_box(picture(), box, "a.png"); },
                            "a.png: the box (" + describe(box), "3 x 2 pixels",
                            "crop_boxes");
  }
}

TEST(Box, IsDescribedWithItsLastPixels) {
  EXPECT_EQ(describe({3, 0, 10, 5}), "columns 3 to 9, rows 0 to 4");
}

}  // namespace
}  // namespace kith
