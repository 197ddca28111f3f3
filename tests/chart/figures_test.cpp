// Charts of studies: marks, rows of dots and bars, heat maps, ranked lists.

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/chart/axis.h"
#include "kith/chart/dot_chart.h"
#include "kith/chart/heat_map.h"
#include "kith/chart/mark_chart.h"
#include "kith/chart/name_places.h"
#include "kith/chart/ranked_lists.h"
#include "tests/chart/sound_svg.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LogAxis, HasTicksAtPowersOfTen) {
  EXPECT_THAT(labels_of(make_log_axis(0.01, 10000)),
              ElementsAre("0.01", "0.1", "1", "10", "100", "1,000", "10,000"));
  EXPECT_THAT(labels_of(make_log_axis(16, 392)),
              ElementsAre("20", "50", "100", "200"));
  EXPECT_NEAR(make_log_axis(1, 100).position(10), 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(make_log_axis(1, 100).position(-1)));
}

TEST(LogAxis, EveryRangeHasAnExtentAndFewTicks) {
  for (const auto& [lo, hi] : {std::pair{5.0, 5.0},
                               {kInf, -kInf},
                               {1e-300, 1e300},
                               {1.0, 1.0 + 1e-12}}) {
    const Axis axis = make_log_axis(lo, hi);
    EXPECT_LT(axis.lo, axis.hi);
    EXPECT_GT(axis.lo, 0.0);
    EXPECT_LE(axis.ticks().size(), 15u);
  }
}

TEST(ShortNumber, HasSixDigitsAtMost) {
  EXPECT_EQ(short_number(0.1), "0.1");
  EXPECT_EQ(short_number(4096), "4,096");
  EXPECT_EQ(short_number(-0.12345678), "−0.123457");
  EXPECT_EQ(short_number(1e-7), "1e-07");
}

MarkChart marks(MarkStyle style) {
  MarkChart chart;
  chart.title = "R@1 <by> batch";
  chart.x_label = "batch";
  chart.y_label = "R@1";
  chart.series = {
      {"a & b", {{16, 60, 0, 1}, {32, 65}, {64, 70, 0, kNaN}}, style, 1}};
  return chart;
}

TEST(MarkChart, EveryStyleIsSound) {
  for (const MarkStyle style :
       {MarkStyle::kMarks, MarkStyle::kJoined, MarkStyle::kCurve,
        MarkStyle::kReference, MarkStyle::kRings}) {
    MarkChart chart = marks(style);
    expect_sound(mark_chart(chart));
    chart.log_x = chart.log_y = chart.ticks_at_marks = chart.show_names = true;
    expect_sound(mark_chart(chart));
  }
}

TEST(MarkChart, LeavesOutWhatHasNoPlace) {
  MarkChart chart = marks(MarkStyle::kJoined);
  chart.series[0].marks.push_back({kNaN, 1});
  chart.series[0].marks.push_back({1, kInf});
  chart.series[0].marks.push_back({0, 61});  // not on a logarithmic axis
  chart.log_x = true;
  const std::string svg = mark_chart(chart);
  expect_sound(svg);
  EXPECT_EQ(count_of(svg, "<circle "), 3 + 1);
  EXPECT_THAT(svg, HasSubstr("data-name=\"a &amp; b\" data-stroke=\"s1\" "
                             "data-points=\"16,60,"));
  EXPECT_THAT(svg, HasSubstr("<desc>a &amp; b: first 60 at 16, last 70 at 64"));
  for (MarkSeries& series : chart.series) series.marks.clear();
  EXPECT_THAT(mark_chart(chart), HasSubstr("no data"));
  expect_sound(mark_chart({}));
}

TEST(MarkChart, IntervalsBelowZeroEndAtTheFrameOfALogarithmicAxis) {
  MarkChart chart = marks(MarkStyle::kCurve);
  chart.log_y = true;
  chart.series[0].marks = {{1, 0.1, 0, 0.5}, {2, 0.01, 0, 0.5}};
  expect_sound(mark_chart(chart));
}

TEST(MarkChart, NamesAreLeftOutWhereThereIsNoRoom) {
  MarkChart chart = marks(MarkStyle::kMarks);
  chart.show_names = true;
  chart.series[0].marks.clear();
  for (int i = 0; i < 50; ++i) {
    chart.series[0].marks.push_back(
        {1.0 + 1e-4 * i, 1.0, 0, 0, "objective " + std::to_string(i)});
  }
  const std::string svg = mark_chart(chart);
  expect_sound(svg);
  EXPECT_LT(count_of(svg, "class=\"q a m\""), 20);
  EXPECT_EQ(count_of(svg, "<title>objective "), 50);
}

TEST(NamePlaces, NeverOverlap) {
  NamePlaces places({0, 0, 100, 100});
  places.add_point(50, 50);
  std::vector<NameBox> taken;
  for (int i = 0; i < 6; ++i) {
    if (const auto box = places.take(50, 50, 30, 10)) taken.push_back(*box);
  }
  EXPECT_EQ(taken.size(), 4u);  // right, left, above, below
  for (size_t i = 0; i < taken.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(taken[i].overlaps(taken[j]));
  }
  EXPECT_FALSE(places.take(95, 5, 200, 10).has_value());
}

DotChart rows() {
  DotChart chart;
  chart.title = "Objectives";
  chart.value_label = "R@1 (%)";
  chart.groups = {"margin",
                  "a name that is longer than the column can be, "
                  "with more"};
  chart.series = {{"without", {{75, 1, 79}, {73, kNaN}}, 0},
                  {"with", {{76, 0.5}, {kNaN, kNaN}}, 1}};
  return chart;
}

TEST(DotChart, SaysWhetherItsAxisBeginsAtZero) {
  DotChart chart = rows();
  const std::string dots = dot_chart(chart);
  expect_sound(dots);
  EXPECT_THAT(dots, HasSubstr("the axis does not begin at zero"));
  EXPECT_EQ(count_of(dots, "<circle "), 3 + 2 + 2);  // with legend, and a ring
  EXPECT_EQ(count_of(dots, ">–<"), 1);
  chart.from_zero = true;
  const std::string bars = dot_chart(chart);
  expect_sound(bars);
  EXPECT_THAT(bars, Not(HasSubstr("begin at zero")));
  EXPECT_EQ(count_of(bars, "<rect "), 3 + 2);
  chart.series[0].values[0].value = -5;
  expect_sound(dot_chart(chart));
}

TEST(DotChart, OddShapesAreSound) {
  expect_sound(dot_chart({}));
  DotChart chart = rows();
  chart.series.clear();
  expect_sound(dot_chart(chart));
  chart = rows();
  chart.groups.resize(300, "group");  // series have fewer values
  expect_sound(dot_chart(chart));
}

TEST(HeatMap, HasNumbersWhereThereIsRoom) {
  HeatMap map;
  map.title = "Correlations";
  map.names = {"a & b", "c"};
  map.size = 2;
  map.values = {1, -0.5, kNaN, -0.001};
  const std::string svg = heat_map(map);
  expect_sound(svg);
  for (const char* text : {">1.00<", ">−0.50<", ">–<", ">0.00<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  map.names.clear();
  map.size = 100;
  map.values.assign(10000, 7.0);
  const std::string large = heat_map(map);
  expect_sound(large);
  EXPECT_LT(large.size(), 400000u);
  EXPECT_THAT(large, Not(HasSubstr(">7.00<")));
  expect_sound(heat_map({}));
}

TEST(RankedLists, AreSortedAndCut) {
  RankedLists picture;
  picture.columns = {"recall@1"};
  picture.cut = 1;
  picture.lists = {{{{0.2, true, true}, {0.9, false, false}}, {"0.000"}}};
  const std::string svg = ranked_lists(picture);
  expect_sound(svg);
  EXPECT_LT(svg.find(">0.90<"), svg.find(">0.20<"));
  EXPECT_EQ(count_of(svg, "class=\"x k\""), 1);
  EXPECT_EQ(count_of(svg, "class=\"x d\""), 1);
  expect_sound(ranked_lists({}));
}

}  // namespace
}  // namespace kith
