#include "kith/samplers/classes.h"

#include <map>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kith {
namespace {

using ::testing::UnorderedElementsAre;

TEST(ClassDraw, ComesToAllImagesBeforeOneRepeats) {
  const ClassImages classes = {{10, 11, 12}, {20}};
  Rng rng(3, Stream::kStep);
  for (int i = 0; i < 50; ++i) {
    ClassDraw images(classes);
    std::set<int64_t> drawn;
    for (int n = 0; n < 3; ++n) drawn.insert(images.draw(0, rng));
    EXPECT_EQ(drawn.size(), 3u);
    std::set<int64_t> again;
    for (int n = 0; n < 3; ++n) again.insert(images.draw(0, rng));
    EXPECT_EQ(again.size(), 3u);
    EXPECT_EQ(images.draw(1, rng), 20);
    EXPECT_EQ(images.draw(1, rng), 20);
  }
}

TEST(ClassDraw, IsUniform) {
  const ClassImages classes = {{0, 1, 2, 3}};
  Rng rng(4, Stream::kStep);
  std::map<std::pair<int64_t, int64_t>, int> counts;
  for (int i = 0; i < 12'000; ++i) {
    ClassDraw images(classes);
    const int64_t first = images.draw(0, rng);
    ++counts[{first, images.draw(0, rng)}];
  }
  EXPECT_EQ(counts.size(), 12u);
  for (const auto& [pair, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(ClassDraw, LeavesOutWhatHasBeenTaken) {
  const ClassImages classes = {{7, 8, 9, 10}};
  Rng rng(5, Stream::kStep);
  for (int i = 0; i < 50; ++i) {
    ClassDraw images(classes);
    images.take(0, 9);
    images.take(0, 7);
    const int64_t first = images.draw(0, rng);
    EXPECT_THAT((std::vector<int64_t>{first, images.draw(0, rng)}),
                UnorderedElementsAre(8, 10));
  }
}

}  // namespace
}  // namespace kith
