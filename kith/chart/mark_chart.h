#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kith {

/// A measured point and how sure it is.
struct ChartMark {
  double x = 0.0;
  double y = 0.0;
  double x_half = 0.0;    ///< Half an interval; none if zero or not finite.
  double y_half = 0.0;    ///< The same along y.
  std::string name = {};  ///< Shown with the numbers under the pointer.
};

/// How the points of a series are drawn.
enum class MarkStyle {
  kMarks,      ///< Points with their intervals.
  kJoined,     ///< The same, joined by a line in their order.
  kCurve,      ///< A line alone, its intervals as a band.
  kReference,  ///< A thin grey line, what the others are held up to.
  kRings,      ///< Grey rings: numbers from elsewhere.
};

struct MarkSeries {
  std::string name;
  std::vector<ChartMark> marks;
  MarkStyle style = MarkStyle::kJoined;
  size_t colour = 0;  ///< svg_stroke_class; kept when other series are empty.
};

/// A chart with numbers on both axes.
struct MarkChart {
  std::string title;
  std::string note;  ///< A line below the title; may be empty.
  std::string x_label;
  std::string y_label;
  std::vector<MarkSeries> series;
  bool log_x = false;
  bool log_y = false;
  bool ticks_at_marks = false;  ///< On the x axis at the points themselves.
  bool show_names = false;      ///< Beside the points, where there is room.
  double width = 640.0;         ///< Of the view box.
};

/// An SVG element as line_chart() makes it. Points that are not finite, or not
/// positive on a logarithmic axis, are left out; a line goes on to the next.
/// Without any point the chart says "no data".
std::string mark_chart(const MarkChart& chart);

}  // namespace kith
