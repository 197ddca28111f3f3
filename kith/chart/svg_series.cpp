#include "kith/chart/svg_series.h"

#include <algorithm>

#include "kith/chart/html.h"
#include "kith/core/number_text.h"

namespace kith {
namespace {

constexpr size_t kMostDescribed = 8;

// Six digits: more than anyone reads off a chart, and no thousands marks.
std::string plain_number(double value) { return format_general(value, 6); }

std::string describe_one(const SvgSeries& series) {
  const auto below = [](const SvgPoint& a, const SvgPoint& b) {
    return a.y < b.y;
  };
  const std::vector<SvgPoint>& points = series.points;
  const SvgPoint low = *std::min_element(points.begin(), points.end(), below);
  const SvgPoint high = *std::max_element(points.begin(), points.end(), below);
  const auto at = [](const SvgPoint& point) {
    return plain_number(point.y) + " at " + plain_number(point.x);
  };
  return (series.name.empty() ? "" : series.name + ": ") + "first " +
         at(points.front()) + ", last " + at(points.back()) + ", lowest " +
         at(low) + ", highest " + at(high) + ".";
}

}  // namespace

std::string svg_open_series(const SvgSeries& series) {
  std::string points;
  for (const SvgPoint& point : series.points) {
    if (!points.empty()) points += ' ';
    points += plain_number(point.x) + "," + plain_number(point.y) + "," +
              svg_number(point.left) + "," + svg_number(point.top);
  }
  return "<g class=\"series\" data-name=\"" + html_escape(series.name) +
         "\" data-stroke=\"" + series.stroke + "\" data-points=\"" + points +
         "\">\n";
}

std::string svg_axes_data(const SvgPlot& plot, const std::string& x_label,
                          const std::string& y_label) {
  return "<g class=\"axes\" data-x=\"" + html_escape(x_label) + "\" data-y=\"" +
         html_escape(y_label) + "\" data-box=\"" + svg_number(plot.left) + " " +
         svg_number(plot.top) + " " + svg_number(plot.right) + " " +
         svg_number(plot.bottom) + "\"/>\n";
}

std::string svg_describe(const std::vector<SvgSeries>& series) {
  std::string text;
  size_t described = 0, left = 0;
  for (const SvgSeries& one : series) {
    if (one.points.empty()) continue;
    if (described == kMostDescribed) {
      ++left;
      continue;
    }
    text += (text.empty() ? "" : " ") + describe_one(one);
    ++described;
  }
  if (left > 0) text += " And " + std::to_string(left) + " more.";
  return text.empty() ? "" : "<desc>" + html_escape(text) + "</desc>\n";
}

}  // namespace kith
