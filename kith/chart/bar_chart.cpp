#include <algorithm>
#include <limits>

#include "kith/chart/axis.h"
#include "kith/chart/chart.h"
#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
namespace {

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

}  // namespace

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
    svg_add_no_data(svg, plot);
  } else {
    add_bars(svg, chart, plot, axis);
  }
  svg += svg_line(plot.left, plot.bottom, plot.right, plot.bottom, "x");
  return svg + "</svg>\n";
}

}  // namespace kith
