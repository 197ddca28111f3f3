#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kith/chart/axis.h"

namespace kith {

/// The drawing that all charts share. Sizes are units of the view box: a
/// chart is made to be shown about as wide as a phone or half a page.
constexpr double kSvgWidth = 480.0;
constexpr double kSvgHeight = 310.0;
constexpr double kSvgFont = 13.0;

/// The rectangle the data is drawn in.
struct SvgPlot {
  double left = 0.0;
  double right = kSvgWidth - 8.0;
  double top = 0.0;
  double bottom = kSvgHeight - 46.0;

  double x(const Axis& axis, double value) const {
    return left + (right - left) * axis.position(value);
  }
  double y(const Axis& axis, double value) const {
    return bottom - (bottom - top) * axis.position(value);
  }
};

struct SvgLegendEntry {
  std::string name;
  std::string css_class;
  bool line = false;        ///< A stroke, else a filled square.
  std::string symbol = {};  ///< SVG around the origin, drawn instead.
};

/// A coordinate or length.
std::string svg_number(double value);

/// A text's rough width: fonts differ, and no font is at hand to measure with.
double svg_text_width(std::string_view text, double font);

/// The text, shortened with an ellipsis to about `width`.
std::string svg_fit(std::string text, double width, double font = kSvgFont);

std::string svg_text(double x, double y, std::string_view css_class,
                     std::string_view text);
std::string svg_line(double x1, double y1, double x2, double y2,
                     std::string_view css_class);

/// CSS classes of the n-th series: its stroke or its fill. Colours repeat
/// after six; strokes are dashed from then on.
std::string svg_stroke_class(size_t series);
std::string svg_fill_class(size_t series);

/// The mark of a point of the n-th series, with a text shown when the pointer
/// is on it: discs, and when colours repeat squares, then diamonds.
std::string svg_mark(double x, double y, size_t series, const std::string& tip);

/// A ring: a number from elsewhere beside the series' own.
std::string svg_ring(double x, double y, const std::string& tip);

/// The rules of every chart's <style>, and the element: a page with many charts
/// needs them once.
std::string svg_rules();
const std::string& svg_style();

/// Opening tag, style and title. The caller appends "</svg>".
std::string svg_open(const std::string& title, double width = kSvgWidth,
                     double height = kSvgHeight);

/// Where a legend lies.
struct SvgLegendBox {
  double first_row = 40.0;  ///< The base line of its text.
  double width = kSvgWidth;
};

/// Appends the entries below the title, wrapped to at most five rows and a
/// last one that says how many did not fit, and returns the y below which the
/// chart is free.
double svg_add_legend(std::string& svg,
                      const std::vector<SvgLegendEntry>& entries,
                      const SvgLegendBox& box = {});

/// The same below a line of small text under the title; no line if it is empty.
double svg_add_head(std::string& svg, const std::string& note,
                    const std::vector<SvgLegendEntry>& entries, double width);

/// Appends grid lines and tick labels, `unit` after each number. Moves the
/// plot's left edge so that the labels fit.
void svg_add_y_axis(std::string& svg, SvgPlot& plot, const Axis& axis,
                    std::string_view unit);

/// Appends the base line, ticks with numbers and the axis label. A number that
/// would touch the one before is left out.
void svg_add_x_axis(std::string& svg, const SvgPlot& plot, const Axis& axis,
                    const std::string& label);

/// Appends "no data" in the middle of the plot.
void svg_add_no_data(std::string& svg, const SvgPlot& plot);

}  // namespace kith
