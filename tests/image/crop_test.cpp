#include "kith/image/crop.h"

#include <cmath>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kith
