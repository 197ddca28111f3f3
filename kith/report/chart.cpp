#include "kith/report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kith/report/axis.h"
#include "kith/report/html.h"
#include "kith/report/svg.h"

namespace kith {
namespace {

constexpr size_t kColumns = 400;  // about one per unit of the plot's width

bool drawable(const ChartPoint& point) {
  return plottable(point.x) && plottable(point.y);
}

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

// A path through the points, broken at gaps; a lone point becomes a dot.
std::string draw_series(const std::vector<ChartPoint>& points,
                        const SvgPlot& plot, const Axis& x_axis,
                        const Axis& y_axis, size_t series, bool faint) {
  std::string path, dots;
  size_t run = 0;
  std::string last_x, last_y;
  const auto end_run = [&] {
    if (run == 1) {
      dots += "<circle cx=\"" + last_x + "\" cy=\"" + last_y +
              "\" r=\"3\" class=\"" + svg_fill_class(series) +
              (faint ? " w" : "") + "\"/>\n";
    }
    run = 0;
  };
  for (const ChartPoint& point : thin_out(points)) {
    if (!drawable(point)) {
      end_run();
      continue;
    }
    last_x = svg_number(plot.x(x_axis, point.x));
    last_y = svg_number(plot.y(y_axis, point.y));
    path += (run == 0 ? "M" : "L") + last_x + " " + last_y;
    ++run;
  }
  end_run();
  if (path.empty()) return "";
  return "<path d=\"" + path + "\" class=\"l " + svg_stroke_class(series) +
         (faint ? " w" : "") + "\"/>\n" + dots;
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

// Muted series take no colour away from the others.
std::vector<std::string> bar_fills(const std::vector<BarSeries>& series) {
  std::vector<std::string> fills;
  size_t colour = 0;
  for (const BarSeries& one : series) {
    fills.push_back(one.muted ? "fm" : svg_fill_class(colour++));
  }
  return fills;
}

// Value `group` of a series, NaN when it is missing.
double value_at(const BarSeries& series, size_t group) {
  return group < series.values.size()
             ? series.values[group]
             : std::numeric_limits<double>::quiet_NaN();
}

std::string draw_bar(const SvgPlot& plot, const Axis& axis, double x,
                     double width, double value, const std::string& fill) {
  const bool known = plottable(value);
  const double top = plot.y(axis, known ? std::max(value, 0.0) : 0.0);
  std::string svg;
  if (known) {
    svg += "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(top) +
           "\" width=\"" + svg_number(width) + "\" height=\"" +
           svg_number(plot.bottom - top) + "\" rx=\"2\" class=\"" + fill +
           "\"/>\n";
  }
  const std::string label = known ? format_fixed(value, 1) : "–";
  // Where bars are too thin for their numbers, the axis has to do.
  if (svg_text_width(label, 12.0) <= width + 12.0) {
    svg += svg_text(x + width / 2, top - 5, "v n m", label);
  }
  return svg;
}

void add_bars(std::string& svg, const BarChart& chart, const SvgPlot& plot,
              const Axis& axis) {
  constexpr double kMaxBar = 44.0, kGroupFill = 0.74, kBarGap = 4.0;
  const std::vector<std::string> fills = bar_fills(chart.series);
  const double slot =
      (plot.right - plot.left) / static_cast<double>(chart.groups.size());
  const auto count = static_cast<double>(chart.series.size());
  const double pitch = std::min(slot * kGroupFill / count, kMaxBar + kBarGap);
  for (size_t group = 0; group < chart.groups.size(); ++group) {
    const double middle = plot.left + slot * (static_cast<double>(group) + 0.5);
    for (size_t i = 0; i < chart.series.size(); ++i) {
      const BarSeries& series = chart.series[i];
      const double x =
          middle + pitch * (static_cast<double>(i) - count / 2) + kBarGap / 2;
      svg += draw_bar(plot, axis, x, std::max(pitch - kBarGap, 1.0),
                      value_at(series, group), fills[i]);
    }
    svg += svg_text(middle, plot.bottom + 20, "m",
                    svg_fit(chart.groups[group], slot));
  }
}

void add_no_data(std::string& svg, const SvgPlot& plot) {
  svg += svg_text((plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2,
                  "a m", "no data");
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  const double weight = std::clamp(chart.smoothing, 0.0, 0.9999);
  const bool smoothed = weight > 0.0;  // false for NaN
  Extent xs, ys;
  for (const LineSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!drawable(point)) continue;
      xs.add(point.x);
      ys.add(point.y);
    }
  }
  // A run that begins at step 1 looks better on an axis that begins at 0.
  if (xs.lo > 0.0 && xs.lo < 0.1 * xs.hi) xs.lo = 0.0;
  const Axis x_axis = make_axis(xs.lo, xs.hi, 5, false);
  const Axis y_axis = make_axis(ys.lo, ys.hi, 5, true);

  std::string svg = svg_open(chart.title);
  SvgPlot plot;
  plot.top = svg_add_legend(svg, line_legend(chart, smoothed)) + 12.0;
  if (!chart.y_label.empty()) {
    svg += svg_text(0, plot.top + 4, "a", svg_fit(chart.y_label, kSvgWidth));
    plot.top += 22.0;
  }
  svg_add_y_axis(svg, plot, y_axis, "");
  svg_add_x_axis(svg, plot, x_axis, chart.x_label);
  if (xs.empty()) add_no_data(svg, plot);
  // All faint lines first: no average is hidden behind another series.
  for (size_t i = 0; i < chart.series.size(); ++i) {
    svg +=
        draw_series(chart.series[i].points, plot, x_axis, y_axis, i, smoothed);
  }
  for (size_t i = 0; i < chart.series.size() && smoothed; ++i) {
    svg += draw_series(smooth(chart.series[i].points, weight), plot, x_axis,
                       y_axis, i, false);
  }
  return svg + "</svg>\n";
}

std::string bar_chart(const BarChart& chart) {
  const std::vector<std::string> fills = bar_fills(chart.series);
  double highest = 100.0;
  std::vector<SvgLegendEntry> entries;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const BarSeries& series = chart.series[i];
    entries.push_back({series.name, fills[i], false});
    for (const double value : series.values) {
      if (plottable(value)) highest = std::max(highest, value);
    }
  }
  if (entries.size() == 1 && entries[0].name.empty()) entries.clear();

  std::string svg = svg_open(chart.title);
  SvgPlot plot;
  plot.bottom = kSvgHeight - 30.0;
  plot.top = svg_add_legend(svg, entries) + 22.0;
  const Axis axis = make_axis(0.0, highest, 5, true);
  svg_add_y_axis(svg, plot, axis, " %");
  if (chart.groups.empty() || chart.series.empty()) {
    add_no_data(svg, plot);
  } else {
    add_bars(svg, chart, plot, axis);
  }
  svg += svg_line(plot.left, plot.bottom, plot.right, plot.bottom, "x");
  return svg + "</svg>\n";
}

}  // namespace kith
