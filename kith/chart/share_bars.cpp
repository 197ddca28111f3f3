#include "kith/chart/share_bars.h"

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
namespace {

constexpr double kShareBar = 20.0;
constexpr double kName = 22.0;     // the line with a row's name
constexpr double kFigures = 38.0;  // below a bar, with the gap to the next
constexpr double kFigureFont = 12.0;
constexpr double kShareGap = 1.5;  // between parts

bool is_part(double value) { return plottable(value) && value > 0.0; }

double sum_of(const ShareRow& row) {
  double sum = 0.0;
  for (const double value : row.values) sum += is_part(value) ? value : 0.0;
  return sum;
}

std::string draw_part(double x, double y, double width, size_t part,
                      const std::string& tip) {
  return "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
         "\" width=\"" + svg_number(width) + "\" height=\"" +
         svg_number(kShareBar) + "\" rx=\"2\" class=\"" + svg_fill_class(part) +
         "\"><title>" + html_escape(tip) + "</title></rect>\n";
}

std::string draw_row(const ShareBars& chart, const ShareRow& row, double y) {
  const double sum = sum_of(row);
  if (!is_part(sum)) return svg_text(0, y + 15, "a", "no data");
  std::string svg;
  double x = 0.0;
  for (size_t i = 0; i < row.values.size() && i < chart.parts.size(); ++i) {
    if (!is_part(row.values[i])) continue;
    const double share = row.values[i] / sum;
    const double width = kSvgWidth * share;
    const std::string figure = format_fixed(100.0 * share, 1) + "%";
    svg += draw_part(x, y, width > 3 * kShareGap ? width - kShareGap : width, i,
                     (row.name.empty() ? "" : row.name + ", ") +
                         chart.parts[i] + ": " + figure + ", " +
                         short_number(row.values[i]) + " " + chart.unit);
    if (svg_text_width(figure, kFigureFont) <= width) {
      svg += svg_text(x + width / 2, y + kShareBar + 16, "a n m", figure);
    }
    x += width;
  }
  return svg;
}

}  // namespace

std::string share_bars(const ShareBars& chart) {
  std::vector<SvgLegendEntry> entries;
  for (size_t i = 0; i < chart.parts.size(); ++i) {
    entries.push_back({chart.parts[i], svg_fill_class(i)});
  }
  std::string body;
  double y = svg_add_legend(body, entries) + 12.0;
  for (const ShareRow& row : chart.rows) {
    if (!row.name.empty()) {
      body += svg_text(0, y + 13, "", svg_fit(row.name, kSvgWidth));
      y += kName;
    }
    body += draw_row(chart, row, y);
    y += kShareBar + kFigures;
  }
  return svg_open(chart.title, kSvgWidth, y - 12.0) + body + "</svg>\n";
}

}  // namespace kith
