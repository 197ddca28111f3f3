#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/generated_sets.h"
#include "kith/data/input.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

struct Bounds {
  int lo = 255;
  int hi = 0;

  void add(int value) {
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
};

/// Bounds of each line's x and y.
struct Extent {
  Bounds x, y;
};

std::map<int64_t, Extent> extents(const DataSet& data) {
  std::map<int64_t, Extent> all;
  for (size_t i = 0; i < data.list().items.size(); ++i) {
    const Image image = data.load(static_cast<int64_t>(i));
    Extent& extent = all[data.list().items[i].label];
    extent.x.add(image.pixels.at(0));
    extent.y.add(image.pixels.at(1));
  }
  return all;
}

TEST(Points, AreFourLinesOfFifteenInEachSplit) {
  for (const std::string setting : {"diagonal", "vertical"}) {
    const PointsDataSet data({.setting = setting});
    for (const Split split : {Split::kTrain, Split::kTest}) {
      const SplitSummary summary = summarise(data.list(), split);
      EXPECT_EQ(summary.classes, 4);
      EXPECT_EQ(summary.min_per_class, 15);
      EXPECT_EQ(summary.max_per_class, 15);
    }
    EXPECT_TRUE(shared_classes(data.list()).empty());
  }
}

TEST(Points, AreOnePixelAndDistinct) {
  for (const PointsOptions& options :
       {PointsOptions{}, PointsOptions{.setting = "vertical"},
        PointsOptions{.samples = 43}, PointsOptions{.samples = 2}}) {
    const PointsDataSet data(options);
    std::set<std::pair<int, int>> seen;
    for (size_t i = 0; i < data.list().items.size(); ++i) {
      const Image image = data.load(static_cast<int64_t>(i));
      ASSERT_EQ(image.pixels.size(), 3u);
      EXPECT_EQ(image.pixels[2], 0);
      EXPECT_TRUE(seen.emplace(image.pixels[0], image.pixels[1]).second);
    }
  }
}

TEST(Points, ReachTheNetworkUnchanged) {
  const PointsDataSet data;
  InputOptions input;
  input.size = 1;
  input.colour = "rgb";
  Rng rng(0, Stream::kAugment);
  for (const int64_t i : {0, 50, 119}) {
    const Image image = data.load(i);
    EXPECT_EQ(prepare_image(image, input, {}, rng).pixels, image.pixels);
  }
}

TEST(Points, DiagonalTrainingLinesLieOnTheDiagonal) {
  const PointsDataSet data;
  for (int64_t i = 0; i < 60; ++i) {
    const Image image = data.load(i);
    EXPECT_EQ(image.pixels[0], image.pixels[1]);
  }
  const auto lines = extents(data);
  for (int64_t label = 4; label < 8; ++label) {
    const Extent& line = lines.at(label);
    EXPECT_TRUE((line.x.lo == line.x.hi) != (line.y.lo == line.y.hi));
  }
}

TEST(Points, VerticalLinesAreToldApartByXInTrainingAndByYInTests) {
  const auto lines = extents(PointsDataSet({.setting = "vertical"}));
  for (int64_t label = 1; label < 4; ++label) {
    EXPECT_GT(lines.at(label).x.lo, lines.at(label - 1).x.hi);
    EXPECT_EQ(lines.at(label).y.lo, lines.at(0).y.lo);
    EXPECT_EQ(lines.at(label).y.hi, lines.at(0).y.hi);
    EXPECT_GT(lines.at(label + 4).y.lo, lines.at(label + 3).y.hi);
    EXPECT_EQ(lines.at(label + 4).x.lo, lines.at(4).x.lo);
    EXPECT_EQ(lines.at(label + 4).x.hi, lines.at(4).x.hi);
  }
}

TEST(Points, RefusesWhatTheGridCannotHold) {
  expect_error<ConfigError>([] { PointsDataSet data({.samples = 44}); },
                            "points.samples", "[2, 43]");
  expect_error<ConfigError>([] { PointsDataSet data({.setting = "round"}); },
                            "points.setting");
}

}  // namespace
}  // namespace kith
