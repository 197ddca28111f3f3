#include "kith/chart/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/svg.h"
#include "kith/chart/svg_series.h"

namespace kith {

bool drawable(const ChartPoint& point) {
  return plottable(point.x) && plottable(point.y);
}

namespace {

constexpr size_t kColumns = 400;  // about one per unit of the plot's width

std::vector<ChartPoint> smooth(const std::vector<ChartPoint>& points,
                               double weight) {
  std::vector<ChartPoint> result = points;
  double sum = 0.0, norm = 0.0;
  for (ChartPoint& point : result) {
    if (!drawable(point)) continue;
    sum = weight * sum + (1.0 - weight) * point.y;
    norm = weight * norm + (1.0 - weight);
    point.y = sum / norm;
  }
  return result;
}

// At most two points per column, the lowest and the highest, in their order.
std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points) {
  if (points.size() <= 2 * kColumns) return points;
  std::vector<ChartPoint> result;
  for (size_t column = 0; column < kColumns; ++column) {
    const size_t begin = column * points.size() / kColumns;
    const size_t end = (column + 1) * points.size() / kColumns;
    size_t low = end, high = end;
    for (size_t i = begin; i < end; ++i) {
      if (!drawable(points[i])) continue;
      if (low == end || points[i].y < points[low].y) low = i;
      if (high == end || points[i].y > points[high].y) high = i;
    }
    if (low == end) {
      result.push_back(points[begin]);
      continue;
    }
    result.push_back(points[std::min(low, high)]);
    if (low != high) result.push_back(points[std::max(low, high)]);
  }
  return result;
}

// Where a chart's values lie.
struct LineFrame {
  SvgPlot plot;
  Axis x, y;

  SvgPoint place(const ChartPoint& point) const {
    return {point.x, point.y, plot.x(x, point.x), plot.y(y, point.y)};
  }
};

std::string at(const SvgPoint& point) {
  return svg_number(point.left) + " " + svg_number(point.top);
}

// A path through the points, broken at gaps; a lone point becomes a dot.
std::string draw_points(const std::vector<ChartPoint>& points,
                        const LineFrame& frame, size_t series, bool faint) {
  const std::string weak = faint ? " w" : "";
  std::string path, dots;
  size_t run = 0;
  SvgPoint last;
  const auto end_run = [&] {
    if (run == 1) {
      dots += "<circle cx=\"" + svg_number(last.left) + "\" cy=\"" +
              svg_number(last.top) + "\" r=\"3\" class=\"" +
              svg_fill_class(series) + weak + "\"/>\n";
    }
    run = 0;
  };
  for (const ChartPoint& point : points) {
    if (!drawable(point)) {
      end_run();
      continue;
    }
    last = frame.place(point);
    path += (run == 0 ? "M" : "L") + at(last);
    ++run;
  }
  end_run();
  if (path.empty()) return "";
  return "<path d=\"" + path + "\" class=\"l " + svg_stroke_class(series) +
         weak + "\"/>\n" + dots;
}

// From the line down to the base.
std::string draw_area(const SvgSeries& drawn, const SvgPlot& plot,
                      size_t series) {
  std::string path;
  for (const SvgPoint& point : drawn.points) {
    path += (path.empty() ? "M" : "L") + at(point);
  }
  const std::string base = " " + svg_number(plot.bottom);
  return "<path d=\"" + path + "L" + svg_number(drawn.points.back().left) +
         base + "L" + svg_number(drawn.points.front().left) + base +
         "Z\" class=\"b " + svg_fill_class(series) + "\"/>\n";
}

// The lines of a chart, in the order in which they are drawn.
class LineDrawing {
 public:
  LineDrawing(const LineChart& chart, const LineFrame& frame)
      : chart_(chart), frame_(frame) {}

  /// Series `i` through `points`. Told ones answer the pointer.
  void add(size_t i, const std::vector<ChartPoint>& points,
           const std::string& name, bool faint, bool told) {
    const std::vector<ChartPoint> drawn = thin_out(points);
    SvgSeries series{name, svg_stroke_class(i), {}};
    for (const ChartPoint& point : drawn) {
      if (drawable(point)) series.points.push_back(frame_.place(point));
    }
    if (series.points.empty()) return;
    if (told) svg_ += svg_open_series(series);
    if (chart_.filled) svg_ += draw_area(series, frame_.plot, i);
    svg_ += draw_points(drawn, frame_, i, faint);
    if (!told) return;
    svg_ += "</g>\n";
    told_.push_back(std::move(series));
  }

  std::string str() const { return svg_describe(told_) + svg_; }

 private:
  const LineChart& chart_;
  const LineFrame& frame_;
  std::string svg_;
  std::vector<SvgSeries> told_;
};

// With one series the points and their average are told; of several, which
// would be too many numbers, the averages.
std::string draw_lines(const LineChart& chart, const LineFrame& frame,
                       double weight) {
  LineDrawing drawing(chart, frame);
  const bool smoothed = weight > 0.0, one = chart.series.size() == 1;
  // All faint lines first: no average is hidden behind another series.
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const LineSeries& series = chart.series[i];
    drawing.add(i, series.points, smoothed ? "as measured" : series.name,
                smoothed, one || !smoothed);
  }
  for (size_t i = 0; i < chart.series.size() && smoothed; ++i) {
    const LineSeries& series = chart.series[i];
    drawing.add(i, smooth(series.points, weight),
                series.name.empty() ? "smoothed" : series.name + ", smoothed",
                false, true);
  }
  return drawing.str();
}

std::vector<SvgLegendEntry> line_legend(const LineChart& chart, bool smoothed) {
  std::vector<SvgLegendEntry> entries;
  if (chart.series.size() == 1 && smoothed) {
    const std::string& name = chart.series[0].name;
    const std::string stroke = "l " + svg_stroke_class(0);
    entries.push_back(
        {name.empty() ? "smoothed" : name + ", smoothed", stroke, true});
    entries.push_back({"as measured", stroke + " w k", true});
  } else if (chart.series.size() > 1) {
    for (size_t i = 0; i < chart.series.size(); ++i) {
      entries.push_back(
          {chart.series[i].name, "l " + svg_stroke_class(i), true});
    }
  }
  return entries;
}

struct Extent {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -std::numeric_limits<double>::infinity();

  void add(double value) {
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
  bool empty() const { return lo > hi; }
};

}  // namespace

std::string line_chart(const LineChart& chart) {
  const double clamped = std::clamp(chart.smoothing, 0.0, 0.9999);
  const double weight = clamped > 0.0 ? clamped : 0.0;  // 0 for NaN
  Extent xs, ys;
  const auto reach = [&](const ChartPoint& point) {
    if (!drawable(point)) return;
    xs.add(point.x);
    ys.add(point.y);
  };
  for (const LineSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) reach(point);
  }
  const bool empty = xs.empty();
  for (const ChartPoint& point : chart.reach) reach(point);
  // A run that begins at step 1 looks better on an axis that begins at 0.
  if (xs.lo > 0.0 && xs.lo < 0.1 * xs.hi) xs.lo = 0.0;
  LineFrame frame{
      {}, make_axis(xs.lo, xs.hi, 5, false), make_axis(ys.lo, ys.hi, 5, true)};

  std::string svg = svg_open(chart.title);
  SvgPlot& plot = frame.plot;
  plot.top = svg_add_legend(svg, line_legend(chart, weight > 0.0)) + 12.0;
  if (!chart.y_label.empty()) {
    svg += svg_text(0, plot.top + 4, "a", svg_fit(chart.y_label, kSvgWidth));
    plot.top += 22.0;
  }
  svg_add_y_axis(svg, plot, frame.y, "");
  svg_add_x_axis(svg, plot, frame.x, chart.x_label);
  if (empty) svg_add_no_data(svg, plot);
  svg += svg_axes_data(plot, chart.x_label, chart.y_label);
  return svg + draw_lines(chart, frame, weight) + "</svg>\n";
}

}  // namespace kith
