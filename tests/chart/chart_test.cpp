#include "kith/chart/chart.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kith/chart/axis.h"
#include "tests/chart/sound_svg.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

LineChart chart_of(std::vector<double> values) {
  LineChart chart;
  chart.title = "Loss";
  chart.x_label = "step";
  chart.series = {{"loss", {}}};
  for (size_t i = 0; i < values.size(); ++i) {
    chart.series[0].points.push_back({static_cast<double>(i), values[i]});
  }
  return chart;
}

std::string path_of(const std::string& svg) {
  const size_t at = svg.find("<path d=\"");
  if (at == std::string::npos) return "";
  return svg.substr(at + 9, svg.find('"', at + 9) - at - 9);
}

using Labels = std::vector<std::string>;

TEST(Axis, TicksAreRound) {
  EXPECT_EQ(labels_of(make_axis(0.13, 0.92, 5, true)),
            (Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels_of(make_axis(0, 2000, 4, false)),
            (Labels{"0", "500", "1,000", "1,500", "2,000"}));
  EXPECT_EQ(labels_of(make_axis(-1, 1, 4, true)),
            (Labels{"−1.0", "−0.5", "0", "0.5", "1.0"}));
  EXPECT_EQ(labels_of(make_axis(0, 4e7, 4, true)),
            (Labels{"0", "10000000", "20000000", "30000000", "40000000"}));
}

TEST(Axis, EveryRangeHasAFiniteExtent) {
  const std::pair<double, double> ranges[] = {
      {0, 0},         {5, 5},           {-5, -5},         {kInf, -kInf},
      {1e300, 1e300}, {-1e300, 1e300},  {1e-310, 2e-310}, {1, 1 + 1e-15},
      {1e18, 1e18},   {1e-200, 2e-200}, {0, 1e-299},      {3, 3.001}};
  for (const auto& [lo, hi] : ranges) {
    for (const bool round_out : {false, true}) {
      const Axis axis = make_axis(lo, hi, 5, round_out);
      EXPECT_LT(axis.lo, axis.hi) << lo << " " << hi;
      EXPECT_GT(axis.step, 0.0);
      EXPECT_TRUE(std::isfinite(axis.hi - axis.lo));
      EXPECT_GE(axis.ticks().size(), 2u) << lo << " " << hi;
      EXPECT_LE(axis.ticks().size(), 12u) << lo << " " << hi;
    }
  }
}

TEST(LineChart, DrawsOnePathPerSeriesWithALegend) {
  LineChart chart = chart_of({3, 2, 1});
  chart.series.push_back({"validation", {{0, 4}, {1, 3}, {2, 2}}});
  const std::string svg = line_chart(chart);
  expect_sound(svg);
  EXPECT_EQ(count_of(svg, "<path "), 2);
  EXPECT_NE(svg.find(">validation<"), std::string::npos);
  EXPECT_NE(svg.find(">step<"), std::string::npos);
}

TEST(LineChart, WithoutDataSaysSo) {
  for (const LineChart& chart :
       {LineChart{}, chart_of({}), chart_of({kNaN, kInf, -kInf})}) {
    const std::string svg = line_chart(chart);
    expect_sound(svg);
    EXPECT_NE(svg.find("no data"), std::string::npos);
    EXPECT_EQ(count_of(svg, "<path "), 0);
  }
}

TEST(LineChart, OnePointIsADot) {
  const std::string svg = line_chart(chart_of({0.5}));
  expect_sound(svg);
  EXPECT_EQ(count_of(svg, "<circle "), 1);
}

TEST(LineChart, ConstantAndExtremeValuesStayInside) {
  for (const std::vector<double>& values : {std::vector<double>{2, 2, 2},
                                            {0, 0},
                                            {-3, -3},
                                            {1e300, -1e300},
                                            {1e-320, 0},
                                            {1e308, 1},
                                            {7, 7 + 1e-15}}) {
    const std::string svg = line_chart(chart_of(values));
    expect_sound(svg);
    EXPECT_EQ(path_of(svg).find('-'), std::string::npos) << path_of(svg);
  }
}

TEST(LineChart, NonFiniteValuesAreGaps) {
  const std::string svg = line_chart(chart_of({1, 2, kNaN, 3, kInf, 2, 1}));
  expect_sound(svg);
  EXPECT_EQ(count_of(path_of(svg), "M"), 3);
  EXPECT_EQ(count_of(svg, "<circle "), 1);
}

TEST(LineChart, SmoothingAddsALineOverTheFaintOne) {
  LineChart chart = chart_of({4, 0, 4, 0, kNaN, 4});
  chart.smoothing = 0.9;
  const std::string svg = line_chart(chart);
  expect_sound(svg);
  EXPECT_EQ(count_of(svg, "<path "), 2);
  EXPECT_LT(svg.find("class=\"l s0 w\""), svg.rfind("class=\"l s0\""));
  chart.smoothing = kNaN;
  EXPECT_EQ(count_of(line_chart(chart), "<path "), 1);
}

TEST(LineChart, LongSeriesKeepTheirExtremes) {
  std::vector<double> values(100000, 1.0);
  values[54321] = 9.0;
  const std::string svg = line_chart(chart_of(values));
  expect_sound(svg);
  EXPECT_LT(svg.size(), 30000u);
  EXPECT_LE(count_of(path_of(svg), "L"), 800);
  // The outlier is as high as in a short series of the same range.
  const std::string two = path_of(line_chart(chart_of({1, 9})));
  EXPECT_NE(path_of(svg).find(two.substr(two.rfind(' '))), std::string::npos);
}

std::string points_of(const std::string& svg, const std::string& name) {
  const std::string begin = "data-name=\"" + name + "\"";
  const size_t at = svg.find("data-points=\"", svg.find(begin)) + 13;
  return svg.substr(at, svg.find('"', at) - at);
}

TEST(LineChart, TellsEveryValueWithItsPlace) {
  LineChart chart = chart_of({3, 12345.678, kNaN, 1});
  chart.y_label = "nats";
  const std::string svg = line_chart(chart);
  const std::string points = points_of(svg, "loss");
  EXPECT_EQ(count_of(points, " "), 3 - 1);
  EXPECT_TRUE(points.starts_with("0,3,")) << points;
  EXPECT_NE(points.find(" 1,12345.7,"), std::string::npos) << points;
  // The place is the one that is drawn.
  const std::string path = path_of(svg);
  const std::string place = path.substr(1, path.find('L') - 1);
  EXPECT_EQ(points.substr(4, points.find(' ') - 4),
            std::string(place).replace(place.find(' '), 1, ","));
  EXPECT_NE(svg.find("data-x=\"step\" data-y=\"nats\""), std::string::npos);
  EXPECT_NE(svg.find("<desc>loss: first 3 at 0, last 1 at 3, lowest 1 at 3, "
                     "highest 12345.7 at 1.</desc>"),
            std::string::npos);
}

TEST(LineChart, TellsAveragesOfSeveralAndBothOfOne) {
  LineChart chart = chart_of({4, 0, 4});
  chart.smoothing = 0.5;
  const std::string one = line_chart(chart);
  EXPECT_EQ(count_of(one, "class=\"series\""), 2);
  EXPECT_TRUE(points_of(one, "as measured").starts_with("0,4,"));
  EXPECT_EQ(count_of(points_of(one, "loss, smoothed"), " "), 2);
  chart.series.push_back({"other", {{0, 1}, {1, 2}}});
  const std::string two = line_chart(chart);
  EXPECT_EQ(count_of(two, "class=\"series\""), 2);
  EXPECT_EQ(count_of(two, "as measured"), 0);
  expect_sound(two);
}

TEST(LineChart, ReachesWhatIsNotDrawn) {
  LineChart chart = chart_of({1, 2});
  chart.filled = true;
  chart.reach = {{0, 0}, {4, 100}};
  const std::string svg = line_chart(chart);
  expect_sound(svg);
  EXPECT_NE(svg.find(">100<"), std::string::npos);
  EXPECT_EQ(count_of(svg, "class=\"b f0\""), 1);
  EXPECT_EQ(count_of(points_of(svg, "loss"), " "), 1);
}

TEST(LineChart, EscapesAndShortensText) {
  LineChart chart = chart_of({1, 2});
  chart.title = "<script>&\"" + std::string(300, 'x');
  chart.y_label = "a<b";
  for (int i = 0; i < 40; ++i) {
    chart.series.push_back({"a long & winding name " + std::to_string(i), {}});
  }
  const std::string svg = line_chart(chart);
  expect_sound(svg);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("x…"), std::string::npos);
}

BarChart recall_chart() {
  BarChart chart;
  chart.title = "Recall@k";
  chart.groups = {"R@1", "R@2", "R@4", "R@8"};
  chart.series = {{"before training", {41.87, 53.1, 63, 71.3}, true},
                  {"after training", {87.42, 92.3, 95.4, 97.65}, false}};
  return chart;
}

TEST(BarChart, PrintsEachValueAboveItsBar) {
  const std::string svg = bar_chart(recall_chart());
  expect_sound(svg);
  EXPECT_EQ(count_of(svg, "<rect "), 8 + 2);  // bars and legend
  for (const char* text : {">41.9<", ">87.4<", ">R@8<", ">after training<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(count_of(svg, "class=\"fm\""), 4 + 1);
  EXPECT_EQ(count_of(svg, "class=\"f0\""), 4 + 1);
}

TEST(BarChart, MissingValuesHaveNoBar) {
  BarChart chart = recall_chart();
  chart.series[0].values = {41.87, kNaN, kInf};
  const std::string svg = bar_chart(chart);
  expect_sound(svg);
  EXPECT_EQ(count_of(svg, "<rect "), 5 + 2);
  EXPECT_EQ(count_of(svg, ">–<"), 3);
}

TEST(BarChart, OddShapesAreSound) {
  EXPECT_NE(bar_chart({}).find("no data"), std::string::npos);
  expect_sound(bar_chart({}));
  BarChart chart = recall_chart();
  chart.series[1].values = {-4, 0, 250, 100};
  expect_sound(bar_chart(chart));
  EXPECT_NE(bar_chart(chart).find(">-4.0<"), std::string::npos);
  chart.groups.assign(60, "a group & its name");
  expect_sound(bar_chart(chart));
}

}  // namespace
}  // namespace kith
