#include "kith/data/landmarks.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/generated_sets.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

const LandmarkView kViews[] = {LandmarkView::kEasy, LandmarkView::kHard,
                               LandmarkView::kJunk};

int64_t area(const Box& box) {
  return (box.right - box.left) * (box.bottom - box.top);
}

TEST(Landmarks, ArePhotographedInManyShapes) {
  std::set<std::pair<int, int>> sizes;
  bool wide = false;
  bool upright = false;
  for (int64_t photo = 0; photo < 60; ++photo) {
    const LandmarkPhoto one =
        photograph_landmark(0, photo % 7, photo, kViews[photo % 3]);
    const Image& image = one.image;
    EXPECT_EQ(image.channels, 3);
    for (const int side : {image.width, image.height}) {
      EXPECT_GE(side, 64);
      EXPECT_LE(side, 128);
    }
    sizes.insert({image.width, image.height});
    wide |= image.width > image.height;
    upright |= image.width < image.height;
  }
  EXPECT_GT(sizes.size(), 30u);
  EXPECT_TRUE(wide && upright);
}

TEST(Landmarks, LieInTheirBox) {
  for (int64_t photo = 0; photo < 60; ++photo) {
    for (const LandmarkView view : kViews) {
      const LandmarkPhoto one = photograph_landmark(3, 5, photo, view);
      const Box& box = one.box;
      ASSERT_FALSE(box.empty());
      EXPECT_GE(std::min(box.left, box.top), 0);
      EXPECT_LE(box.right, one.image.width);
      EXPECT_LE(box.bottom, one.image.height);
      const Box alone = landmark_box(3, 5, photo, view);
      EXPECT_EQ(describe(alone), describe(box));
      if (view == LandmarkView::kJunk) {  // a detail fills the picture
        EXPECT_EQ(area(box), one.image.width * one.image.height);
      }
    }
  }
}

TEST(Landmarks, AreAFunctionOfTheirNumbers) {
  const auto pixels = [](uint64_t seed, int64_t landmark, int64_t photo) {
    return photograph_landmark(seed, landmark, photo, LandmarkView::kEasy)
        .image.pixels;
  };
  EXPECT_EQ(pixels(1, 2, 3), pixels(1, 2, 3));
  EXPECT_NE(pixels(1, 2, 3), pixels(2, 2, 3));
  EXPECT_NE(pixels(1, 2, 3), pixels(1, 3, 3));
  EXPECT_NE(pixels(1, 2, 3), pixels(1, 2, 4));
}

TEST(LandmarksSet, HasQueriesWithLists) {
  const LandmarksDataSet data({.classes = 5, .per_class = 11});
  const ImageList& list = data.list();
  ASSERT_EQ(list.items.size(), 55u);
  EXPECT_EQ(summarise(list, Split::kTrain).classes, 2);
  EXPECT_EQ(summarise(list, Split::kTest).classes, 3);
  ASSERT_EQ(list.truths.size(), 3u);
  for (const QueryTruth& truth : list.truths) {
    const Item& query = list.items.at(static_cast<size_t>(truth.query));
    EXPECT_TRUE(query.is_query && !query.is_gallery && query.box);
    EXPECT_EQ(truth.easy.size(), 4u);
    EXPECT_EQ(truth.hard.size(), 4u);
    EXPECT_EQ(truth.junk.size(), 2u);
    for (const auto* answers : {&truth.easy, &truth.hard, &truth.junk}) {
      EXPECT_TRUE(std::is_sorted(answers->begin(), answers->end()));
      for (const int64_t i : *answers) {
        const Item& item = list.items.at(static_cast<size_t>(i));
        EXPECT_EQ(item.label, query.label);
        EXPECT_TRUE(item.is_gallery && !item.is_query);
      }
    }
    const Image picture = data.load(truth.query);
    EXPECT_EQ(picture.width, query.box->right - query.box->left);
    EXPECT_EQ(picture.height, query.box->bottom - query.box->top);
  }
  EXPECT_EQ(usual_protocol("landmarks"), "revisited");
}

TEST(LandmarksSet, RefusesTooMany) {
  expect_error<ConfigError>(
      [] { LandmarksDataSet data({.classes = 1'000'000, .per_class = 1000}); },
      "per_class");
}

}  // namespace
}  // namespace kith
