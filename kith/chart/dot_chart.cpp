#include "kith/chart/dot_chart.h"

#include <algorithm>
#include <limits>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
namespace {

constexpr double kDotWidth = 640.0;
constexpr double kSeriesRow = 18.0;  // of a series within a group
constexpr double kGroupGap = 8.0;    // between groups
constexpr double kBar = 12.0;        // thickness
constexpr double kNumbers = 104.0;   // the column of figures
constexpr double kMostName = 250.0;

class Rows {
 public:
  explicit Rows(const DotChart& chart) : chart_(chart) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (const DotSeries& series : chart.series) {
      for (const DotValue& v : series.values) {
        published_ = published_ || plottable(v.published);
        for (const double end :
             {v.value, v.value - v.half, v.value + v.half, v.published}) {
          if (!plottable(end)) continue;
          lo = std::min(lo, end);
          hi = std::max(hi, end);
        }
      }
    }
    empty_ = lo > hi;
    if (chart.from_zero && !empty_) {
      lo = std::min(lo, 0.0);
      hi = std::max(hi, 0.0);
    }
    axis_ = make_axis(lo, hi, 6, true);
  }

  std::string draw() {
    std::string head;
    plot_.top = svg_add_head(head, note(), legend(), kDotWidth) + 8.0;
    plot_.bottom =
        plot_.top + std::max(height() * static_cast<double>(groups()), 40.0);
    plot_.left = name_width() + 12.0;
    plot_.right = kDotWidth - kNumbers;
    svg_ = svg_open(chart_.title, kDotWidth, plot_.bottom + 46.0) + head;
    for (const double tick : axis_.ticks()) {
      const double x = plot_.x(axis_, tick);
      svg_ += svg_line(x, plot_.top, x, plot_.bottom, "g");
    }
    svg_add_x_axis(svg_, plot_, axis_, chart_.value_label);
    if (empty_) svg_add_no_data(svg_, plot_);
    for (size_t group = 0; group < groups(); ++group) add_group(group);
    return svg_ + "</svg>\n";
  }

 private:
  size_t groups() const { return chart_.groups.size(); }

  double height() const {
    return kGroupGap + kSeriesRow * static_cast<double>(std::max<size_t>(
                                        chart_.series.size(), 1));
  }

  double name_width() const {
    double widest = 40.0;
    for (const std::string& name : chart_.groups) {
      widest = std::max(widest, svg_text_width(name, kSvgFont));
    }
    return std::min(widest, kMostName);
  }

  std::string note() const {
    const bool cut = !empty_ && (axis_.lo > 0.0 || axis_.hi < 0.0);
    return chart_.note + (cut && !chart_.note.empty() ? "; " : "") +
           (cut ? "the axis does not begin at zero" : "");
  }

  std::vector<SvgLegendEntry> legend() const {
    std::vector<SvgLegendEntry> entries;
    for (const DotSeries& series : chart_.series) {
      if (series.name.empty()) continue;
      SvgLegendEntry entry{series.name, svg_fill_class(series.colour)};
      if (!chart_.from_zero) {
        entry.symbol = svg_mark(0, 0, series.colour, series.name);
      }
      entries.push_back(entry);
    }
    if (published_) {
      entries.push_back({"published", "", false, svg_ring(0, 0, "published")});
    }
    return entries;
  }

  void add_group(size_t group) {
    const double top = plot_.top + height() * static_cast<double>(group);
    svg_ += svg_text(plot_.left - 10, top + height() / 2 + 4.5, "e",
                     svg_fit(chart_.groups[group], kMostName));
    if (group > 0) svg_ += svg_line(0, top, kDotWidth, top, "g");
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const DotSeries& series = chart_.series[i];
      if (group >= series.values.size()) continue;
      const double y =
          top + kGroupGap / 2 + kSeriesRow * (static_cast<double>(i) + 0.5);
      add_value(series, chart_.groups[group], series.values[group], y);
    }
  }

  void add_value(const DotSeries& series, const std::string& group,
                 const DotValue& v, double y) {
    const bool known = plottable(v.value);
    const std::string figures =
        !known
            ? "–"
            : format_fixed(v.value, 2) +
                  (is_interval(v.half) ? " ± " + format_fixed(v.half, 2) : "");
    svg_ += svg_text(kDotWidth, y + 4.5, "v n e", figures);
    const std::string name =
        group + (series.name.empty() ? "" : ", " + series.name);
    if (known) {
      const std::string tip = name + ": " + figures;
      if (chart_.from_zero) add_bar(series, v, y, tip);
      if (is_interval(v.half)) add_interval(series, v, y);
      if (!chart_.from_zero) {
        svg_ += svg_mark(plot_.x(axis_, v.value), y, series.colour, tip);
      }
    }
    if (plottable(v.published)) {
      svg_ += svg_ring(plot_.x(axis_, v.published), y,
                       name + ", published: " + short_number(v.published));
    }
  }

  void add_bar(const DotSeries& series, const DotValue& v, double y,
               const std::string& tip) {
    const double zero = plot_.x(axis_, 0.0), end = plot_.x(axis_, v.value);
    svg_ += "<rect x=\"" + svg_number(std::min(zero, end)) + "\" y=\"" +
            svg_number(y - kBar / 2) + "\" width=\"" +
            svg_number(std::max(zero, end) - std::min(zero, end)) +
            "\" height=\"" + svg_number(kBar) + "\" rx=\"2\" class=\"" +
            svg_fill_class(series.colour) + "\"><title>" + html_escape(tip) +
            "</title></rect>\n";
  }

  void add_interval(const DotSeries& series, const DotValue& v, double y) {
    const std::string css =
        chart_.from_zero ? "x"  // the series' own colour is not seen on its bar
                         : "i s" + svg_fill_class(series.colour).substr(1);
    const double left = plot_.x(axis_, v.value - v.half);
    const double right = plot_.x(axis_, v.value + v.half);
    svg_ += svg_line(left, y, right, y, css);
    svg_ += svg_line(left, y - 3, left, y + 3, css);
    svg_ += svg_line(right, y - 3, right, y + 3, css);
  }

  const DotChart& chart_;
  Axis axis_;
  SvgPlot plot_;
  std::string svg_;
  bool published_ = false;
  bool empty_ = true;
};

}  // namespace

std::string dot_chart(const DotChart& chart) { return Rows(chart).draw(); }

}  // namespace kith
