#pragma once

#include <string>
#include <vector>

namespace kith {

struct ChartPoint {
  double x = 0.0;
  double y = 0.0;
};

/// Whether a chart can show both coordinates.
bool drawable(const ChartPoint& point);

struct LineSeries {
  std::string name;
  std::vector<ChartPoint> points;  ///< In drawing order, usually rising x.
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<LineSeries> series;
  /// Weight of the past in an exponential moving average, [0, 1): 0 draws the
  /// points alone, otherwise the average is a thick line over the faint points.
  double smoothing = 0.0;
  bool filled = false;  ///< A faint area between each line and the base.
  /// Not drawn, but within the axes: charts side by side get the same ones.
  std::vector<ChartPoint> reach = {};
};

struct BarSeries {
  std::string name;
  std::vector<double> values;  ///< One per group, in percent.
  bool muted = false;          ///< Grey: the series that others are held up to.
};

struct BarChart {
  std::string title;
  std::vector<std::string> groups;
  std::vector<BarSeries> series;
};

/// An SVG element, to be put into a page or saved as a file of its own. It
/// scales with its surroundings and follows the reader's light or dark mode;
/// inside a page the text takes the page's colour.
///
/// A point that is not finite interrupts its line, and a point between two
/// gaps is a dot. Of very long series only each column's extremes are drawn;
/// a gap narrower than a column is then closed. Without any point the chart
/// says "no data". What is drawn is told as numbers too: see svg_series.h.
std::string line_chart(const LineChart& chart);

/// Bars side by side within each group, the value above each. The axis runs
/// from 0 to 100 and grows when a value is larger; negative values are drawn
/// as 0 and printed as they are. A missing or non-finite value has no bar.
std::string bar_chart(const BarChart& chart);

}  // namespace kith
