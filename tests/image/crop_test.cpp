#include "kith/image/crop.h"

#include <cmath>

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

// Each pixel tells where it is.
Image places(int width, int height, int channels) {
  Image image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i % 251 + 1);
  }
  return image;
}

TEST(Crop, CopiesTheBoxAndPutsBlackOutside) {
  for (const int channels : {1, 3}) {
    const Image image = places(7, 5, channels);
    for (const Box& box :
         {Box{0, 0, 7, 5}, Box{2, 1, 6, 4}, Box{-3, -2, 9, 8}, Box{5, 4, 12, 5},
          Box{-4, 1, 0, 3}, Box{9, 9, 12, 12}, Box{3, 3, 3, 4}}) {
      const Image part = crop(image, box);
      ASSERT_EQ(part.width, box.right - box.left);
      ASSERT_EQ(part.height, box.bottom - box.top);
      ASSERT_EQ(part.channels, channels);
      for (int y = 0; y < part.height; ++y) {
        for (int x = 0; x < part.width * channels; ++x) {
          const int64_t from_x = x + box.left * channels;
          const int64_t from_y = y + box.top;
          const bool inside =
              from_x >= 0 && from_x < 7 * channels && from_y >= 0 && from_y < 5;
          const int expected =
              inside ? image.row(static_cast<int>(from_y))[from_x] : 0;
          EXPECT_EQ(part.row(y)[x], expected);
        }
      }
    }
  }
}

// int(round((outer - inner) / 2)) of Python; if the outer one is smaller,
// (inner - outer) // 2 goes to the left.
TEST(CentreBox, RoundsHalvesToEven) {
  const auto left = [](int outer, int inner) {
    const Box box = centre_box(outer, 1, inner, 1);
    EXPECT_EQ(box.right - box.left, inner);
    const Box turned = centre_box(1, outer, 1, inner);
    EXPECT_EQ(turned.top, box.left);
    EXPECT_EQ(turned.bottom, box.right);
    return box.left;
  };
  EXPECT_EQ(left(10, 10), 0);
  EXPECT_EQ(left(11, 10), 0);
  EXPECT_EQ(left(12, 10), 1);
  EXPECT_EQ(left(13, 10), 2);
  EXPECT_EQ(left(15, 10), 2);
  EXPECT_EQ(left(17, 10), 4);
  EXPECT_EQ(left(9, 10), 0);
  EXPECT_EQ(left(8, 10), -1);
  EXPECT_EQ(left(7, 10), -1);
  EXPECT_EQ(left(5, 10), -2);
}

struct BoxMeans {
  double area = 0.0;  // share of the picture's
  double log_ratio = 0.0;
  double left = 0.0;
  double top = 0.0;
};

BoxMeans means(int width, int height, const RandomBoxRange& range) {
  constexpr int kDraws = 20'000;
  BoxMeans sum;
  Rng rng(3, Stream::kAugment);
  for (int i = 0; i < kDraws; ++i) {
    const Box box = random_box(width, height, range, rng);
    EXPECT_TRUE(box.left >= 0 && box.top >= 0 && !box.empty() &&
                box.right <= width && box.bottom <= height);
    const auto w = static_cast<double>(box.right - box.left);
    const auto h = static_cast<double>(box.bottom - box.top);
    sum.area += w * h / width / height / kDraws;
    sum.log_ratio += std::log(w / h) / kDraws;
    sum.left += static_cast<double>(box.left) / kDraws;
    sum.top += static_cast<double>(box.top) / kDraws;
  }
  return sum;
}

// The expected values are means of 40,000 draws of RandomResizedCrop's
// get_params (torchvision 0.14.1), the margins four standard errors of the
// difference of the two means.
TEST(RandomBox, HasTorchvisionsDistribution) {
  const BoxMeans usual = means(300, 200, {});
  EXPECT_NEAR(usual.area, 0.3906, 0.0066);
  EXPECT_NEAR(usual.log_ratio, 0.0317, 0.0057);
  EXPECT_NEAR(usual.left, 74.11, 1.75);
  EXPECT_NEAR(usual.top, 27.18, 0.92);

  RandomBoxRange range;
  range.scale = {0.5, 1.0};
  range.ratio = {0.5, 2.0};
  const BoxMeans wide = means(200, 200, range);
  EXPECT_NEAR(wide.area, 0.6607, 0.0041);
  EXPECT_NEAR(wide.log_ratio, 0.0001, 0.0094);
  EXPECT_NEAR(wide.left, 18.28, 0.62);
  EXPECT_NEAR(wide.top, 18.34, 0.62);
}

TEST(RandomBox, FallsBackToTheCentre) {
  Rng rng(1, Stream::kAugment);
  RandomBoxRange range;
  range.scale = {0.5, 1.0};
  const auto expect_box = [&](int width, int height, const Box& expected) {
    const Box box = random_box(width, height, range, rng);
    EXPECT_EQ(describe(box), describe(expected));
  };
  expect_box(1000, 100, {433, 0, 566, 100});
  expect_box(100, 1000, {0, 433, 100, 566});
  range.scale = {2.0, 3.0};
  expect_box(100, 90, {0, 0, 100, 90});
  range.ratio = {0.1, 0.2};
  expect_box(9, 1, {4, 0, 5, 1});
  // Here some draws fit and some fall back; compared as above.
  range = {};
  EXPECT_NEAR(means(1000, 100, range).area, 0.1252, 0.0005);
}

TEST(RandomBox, ReachesEveryPlace) {
  RandomBoxRange range;
  range.scale = {0.25, 0.25};
  range.ratio = {1.0, 1.0};
  bool seen[3][3] = {};
  Rng rng(2, Stream::kAugment);
  for (int i = 0; i < 200; ++i) {
    const Box box = random_box(4, 4, range, rng);
    EXPECT_EQ(box.right - box.left, 2);
    EXPECT_EQ(box.bottom - box.top, 2);
    seen[box.left][box.top] = true;
  }
  for (const auto& row : seen) {
    for (const bool place : row) EXPECT_TRUE(place);
  }
}

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
