#include "kith/image/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/image/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/raw_images.h"
#include "tests/support/temp_dir.h"

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

/// Files with boxes, all in one list.
class BoxedFiles final : public DataSet {
 public:
  void add(const std::string& path, const Box& box, int quarter_turns = 0) {
    Item item;
    item.path = path;
    item.box = box;
    item.quarter_turns = quarter_turns;
    list_.items.push_back(item);
  }
};

/// 48 x 32 pixels, the quarters 40 and 80 above 120 and 160.
std::string quarters_jpeg() {
  Image image(48, 32, 1);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 48; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(40 + x / 24 * 40 + y / 16 * 80);
    }
  }
  const std::vector<uint8_t> bytes = encode_jpeg(image, 95);
  return {bytes.begin(), bytes.end()};
}

// Boxes were drawn with programs that know nothing of EXIF.
TEST(BoxOfADataSet, CountsPixelsAsTheyAreStored) {
  const TempDir dir;
  const Box upper_right = {24, 0, 48, 16};
  const Box left = {0, 0, 24, 32};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    BoxedFiles set;
    const std::string path =
        dir.write("a.jpg", with_orientation(quarters_jpeg(), orientation));
    set.add(path, upper_right);
    set.add(path, left);
    set.add(path, left, 1);
    const Image quarter = set.load(0);
    const bool lies = orientation >= 5;
    EXPECT_EQ(quarter.width, lies ? 16 : 24);
    EXPECT_EQ(quarter.height, lies ? 24 : 16);
    for (const uint8_t pixel : quarter.pixels) EXPECT_NEAR(pixel, 80, 4);
    // And then the crop is turned: 40 above 120 is 120 to the left of 40.
    const Image half = set.load(1);
    EXPECT_EQ(half.width, lies ? 32 : 24);
    EXPECT_EQ(half.height, lies ? 24 : 32);
    if (orientation == 6) {
      EXPECT_NEAR(half.row(12)[4], 120, 4);
      EXPECT_NEAR(half.row(12)[28], 40, 4);
    }
    EXPECT_EQ(set.load(2).width, half.height);
  }
}

TEST(Box, IsDescribedWithItsLastPixels) {
  EXPECT_EQ(describe({3, 0, 10, 5}), "columns 3 to 9, rows 0 to 4");
}

}  // namespace
}  // namespace kith
