#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace kith {

struct DotValue {
  double value = 0.0;  ///< Not finite: missing.
  double half = 0.0;   ///< Half an interval; none if zero or not finite.
  /// A ring beside it; none if not finite.
  double published = std::numeric_limits<double>::quiet_NaN();
};

struct DotSeries {
  std::string name;
  std::vector<DotValue> values;  ///< One per group.
  size_t colour = 0;
};

/// Values of groups whose names may be long: a row each, from the top down.
struct DotChart {
  std::string title;
  std::string note;  ///< A line below the title; may be empty.
  std::string value_label;
  std::vector<std::string> groups;
  std::vector<DotSeries> series;
  /// Bars from zero. Otherwise dots on an axis that fits the values: the
  /// length of a bar says something only if it begins at zero.
  bool from_zero = false;
};

/// An SVG element as line_chart() makes it, as high as it has rows, with each
/// value and its interval in figures at the right. Without any value the chart
/// says "no data".
std::string dot_chart(const DotChart& chart);

}  // namespace kith
