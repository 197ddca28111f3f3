#include "kith/chart/mark_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/name_places.h"
#include "kith/chart/svg.h"
#include "kith/chart/svg_series.h"

namespace kith {
namespace {

constexpr double kPlotHeight = 280.0;
constexpr double kNameFont = 11.0;
constexpr size_t kMostTicks = 12;  // at points; more would be a comb

struct MarkExtent {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -std::numeric_limits<double>::infinity();

  void add(double value, double half, bool log) {
    const double reach = is_interval(half) ? half : 0.0;
    hi = std::max(hi, value + reach);
    // An interval that crosses zero has no lower end on a logarithmic axis.
    lo = std::min(lo, log && value - reach <= 0.0 ? value : value - reach);
  }
  bool empty() const { return lo > hi; }
};

class Drawing {
 public:
  explicit Drawing(const MarkChart& chart) : chart_(chart) {
    MarkExtent xs, ys;
    for (const MarkSeries& series : chart.series) {
      for (const ChartMark& mark : series.marks) {
        if (!drawable(mark)) continue;
        xs.add(mark.x, mark.x_half, chart.log_x);
        ys.add(mark.y, mark.y_half, chart.log_y);
      }
    }
    empty_ = xs.empty();
    x_ = chart.log_x ? make_log_axis(xs.lo, xs.hi)
                     : make_axis(xs.lo, xs.hi, 6, false);
    y_ = chart.log_y ? make_log_axis(ys.lo, ys.hi)
                     : make_axis(ys.lo, ys.hi, 5, true);
    if (chart.ticks_at_marks) put_ticks_at_marks();
    if (has_dots()) widen_x();
  }

  std::string draw() {
    std::string head;
    plot_.top = svg_add_head(head, chart_.note, legend(), chart_.width) + 12.0;
    head +=
        svg_text(0, plot_.top + 4, "a", svg_fit(chart_.y_label, chart_.width));
    plot_.top += 22.0;
    plot_.bottom = plot_.top + kPlotHeight;
    plot_.right = chart_.width - 14.0;
    svg_ = svg_open(chart_.title, chart_.width, plot_.bottom + 46.0) + head;
    svg_add_y_axis(svg_, plot_, y_, "");
    svg_add_x_axis(svg_, plot_, x_, chart_.x_label);
    if (empty_) svg_add_no_data(svg_, plot_);
    svg_ += svg_axes_data(plot_, chart_.x_label, chart_.y_label);
    add_description();
    for (const MarkSeries& series : chart_.series) {
      const SvgSeries drawn = drawn_series(series);
      if (drawn.points.empty()) continue;
      svg_ += svg_open_series(drawn);
      add_lines(series);
      svg_ += "</g>\n";
    }
    for (const MarkSeries& series : chart_.series) add_marks(series);
    if (chart_.show_names) add_names();
    return svg_ + "</svg>\n";
  }

 private:
  bool drawable(const ChartMark& mark) const {
    return plottable(mark.x) && plottable(mark.y) &&
           (!chart_.log_x || mark.x > 0.0) && (!chart_.log_y || mark.y > 0.0);
  }

  bool has_dots() const {
    return std::any_of(chart_.series.begin(), chart_.series.end(),
                       [](const MarkSeries& series) {
                         return series.style == MarkStyle::kMarks ||
                                series.style == MarkStyle::kJoined;
                       });
  }

  /// Room for the first and the last mark beside the frame.
  void widen_x() {
    constexpr double kShare = 0.03;
    if (x_.log) {
      const double factor = std::pow(x_.hi / x_.lo, kShare);
      x_.lo /= factor;
      x_.hi *= factor;
    } else {
      const double more = kShare * (x_.hi - x_.lo);
      x_.lo -= more;
      x_.hi += more;
    }
  }

  void put_ticks_at_marks() {
    std::vector<double> ticks;
    for (const MarkSeries& series : chart_.series) {
      for (const ChartMark& mark : series.marks) {
        if (drawable(mark)) ticks.push_back(mark.x);
      }
    }
    std::sort(ticks.begin(), ticks.end());
    ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
    if (ticks.size() <= kMostTicks) x_.marks = ticks;
  }

  double x_at(double value) const { return plot_.x(x_, value); }
  double y_at(double value) const { return plot_.y(y_, value); }

  /// Of an interval's lower end, which may not be on a logarithmic axis.
  double low(const Axis& axis, double value) const {
    return axis.log ? std::max(value, axis.lo) : value;
  }

  std::vector<SvgLegendEntry> legend() const {
    std::vector<SvgLegendEntry> entries;
    for (const MarkSeries& series : chart_.series) {
      if (series.name.empty()) continue;
      const std::string stroke = "l " + svg_stroke_class(series.colour);
      SvgLegendEntry entry{series.name, stroke, true};
      const std::string dot = svg_mark(0, 0, series.colour, series.name);
      if (series.style == MarkStyle::kReference) entry.css_class = "x";
      if (series.style == MarkStyle::kMarks) entry.symbol = dot;
      if (series.style == MarkStyle::kJoined) {
        entry.symbol = svg_line(-7, 0, 7, 0, stroke) + dot;
      }
      if (series.style == MarkStyle::kRings) {
        entry.symbol = svg_ring(0, 0, series.name);
      }
      entries.push_back(entry);
    }
    return entries;
  }

  std::string tip(const MarkSeries& series, const ChartMark& mark) const {
    const auto number = [](double value, double half) {
      return short_number(value) +
             (is_interval(half) ? " ± " + short_number(half) : "");
    };
    const std::string& name = mark.name.empty() ? series.name : mark.name;
    return (name.empty() ? "" : name + ": ") + chart_.x_label + " " +
           number(mark.x, mark.x_half) + ", " + chart_.y_label + " " +
           number(mark.y, mark.y_half);
  }

  SvgSeries drawn_series(const MarkSeries& series) const {
    const bool muted = series.style == MarkStyle::kReference ||
                       series.style == MarkStyle::kRings;
    SvgSeries drawn{
        series.name, muted ? "x" : svg_stroke_class(series.colour), {}};
    for (const ChartMark& mark : series.marks) {
      if (!drawable(mark)) continue;
      drawn.points.push_back({mark.x, mark.y, x_at(mark.x), y_at(mark.y)});
    }
    return drawn;
  }

  void add_description() {
    std::vector<SvgSeries> drawn;
    for (const MarkSeries& series : chart_.series) {
      if (series.style != MarkStyle::kReference) {
        drawn.push_back(drawn_series(series));
      }
    }
    svg_ += svg_describe(drawn);
  }

  void add_lines(const MarkSeries& series) {
    if (series.style == MarkStyle::kCurve) add_band(series);
    if (series.style == MarkStyle::kMarks ||
        series.style == MarkStyle::kRings) {
      return;
    }
    std::string path;
    for (const ChartMark& mark : series.marks) {
      if (!drawable(mark)) continue;
      path += (path.empty() ? "M" : "L") + svg_number(x_at(mark.x)) + " " +
              svg_number(y_at(mark.y));
    }
    if (path.empty()) return;
    const bool muted = series.style == MarkStyle::kReference;
    svg_ += "<path d=\"" + path + "\" fill=\"none\" class=\"" +
            (muted ? "x" : "l " + svg_stroke_class(series.colour)) + "\">" +
            (series.name.empty()
                 ? ""
                 : "<title>" + html_escape(series.name) + "</title>") +
            "</path>\n";
  }

  void add_band(const MarkSeries& series) {
    std::string above, below;
    for (const ChartMark& mark : series.marks) {
      if (!drawable(mark)) continue;
      const double half = is_interval(mark.y_half) ? mark.y_half : 0.0;
      const std::string x = svg_number(x_at(mark.x)) + " ";
      above +=
          (above.empty() ? "M" : "L") + x + svg_number(y_at(mark.y + half));
      below = "L" + x + svg_number(y_at(low(y_, mark.y - half))) + below;
    }
    if (above.empty()) return;
    svg_ += "<path d=\"" + above + below + "Z\" class=\"b " +
            svg_fill_class(series.colour) + "\"/>\n";
  }

  void add_marks(const MarkSeries& series) {
    const bool rings = series.style == MarkStyle::kRings;
    const bool dots =
        series.style == MarkStyle::kMarks || series.style == MarkStyle::kJoined;
    if (!rings && !dots && series.marks.size() != 1) return;
    for (const ChartMark& mark : series.marks) {
      if (!drawable(mark)) continue;
      const double x = x_at(mark.x), y = y_at(mark.y);
      if (rings) {
        svg_ += svg_ring(x, y, tip(series, mark));
        continue;
      }
      add_intervals(series, mark);
      svg_ += svg_mark(x, y, series.colour, tip(series, mark));
    }
  }

  void add_intervals(const MarkSeries& series, const ChartMark& mark) {
    // Where names are written, grey: they are crossed by many.
    const std::string css =
        chart_.show_names
            ? "x u"
            : "i s" + svg_fill_class(series.colour).substr(1);  // never dashed
    const double x = x_at(mark.x), y = y_at(mark.y);
    if (is_interval(mark.y_half)) {
      const double top = y_at(mark.y + mark.y_half);
      const double bottom = y_at(low(y_, mark.y - mark.y_half));
      svg_ += svg_line(x, top, x, bottom, css);
      svg_ += svg_line(x - 3, top, x + 3, top, css);
      svg_ += svg_line(x - 3, bottom, x + 3, bottom, css);
    }
    if (is_interval(mark.x_half)) {
      const double left = x_at(low(x_, mark.x - mark.x_half));
      svg_ += svg_line(left, y, x_at(mark.x + mark.x_half), y, css);
    }
  }

  void add_names() {
    NamePlaces places({plot_.left, plot_.top, plot_.right, plot_.bottom});
    for (const MarkSeries& series : chart_.series) {
      for (const ChartMark& mark : series.marks) {
        if (drawable(mark)) places.add_point(x_at(mark.x), y_at(mark.y));
      }
    }
    for (const MarkSeries& series : chart_.series) {
      for (const ChartMark& mark : series.marks) {
        if (!drawable(mark) || mark.name.empty()) continue;
        const auto box =
            places.take(x_at(mark.x), y_at(mark.y),
                        svg_text_width(mark.name, kNameFont), kNameFont);
        if (!box) continue;  // it is still under the pointer
        svg_ += svg_text((box->left + box->right) / 2, box->bottom - 1.5,
                         "q a m", mark.name);
      }
    }
  }

  const MarkChart& chart_;
  Axis x_, y_;
  SvgPlot plot_;
  std::string svg_;
  bool empty_ = true;
};

}  // namespace

std::string mark_chart(const MarkChart& chart) { return Drawing(chart).draw(); }

}  // namespace kith
