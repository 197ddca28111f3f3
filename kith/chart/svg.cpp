#include "kith/chart/svg.h"

#include <algorithm>
#include <array>

#include "kith/chart/html.h"

namespace kith {
namespace {

constexpr double kTitleFont = 15.0;
constexpr double kCharWidth = 0.6;  // of the font size, a fair mean
constexpr size_t kColours = 6;

// Okabe & Ito's colours, told apart with every kind of colour vision; in the
// order that keeps the first ones clear on a white and on a black ground. On
// white the last two are darker than theirs, for a contrast of 3 to 1.
constexpr std::array<const char*, kColours> kLight = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#3393d0"};
constexpr std::array<const char*, kColours> kDark = {
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00"};

std::string colour_rules(const std::array<const char*, kColours>& colours) {
  std::string css;
  for (size_t i = 0; i < kColours; ++i) {
    const std::string n = std::to_string(i);
    const std::string colour = colours[i];
    css += ".kith-chart .s" + n + "{stroke:" + colour + "}.kith-chart .f" + n +
           "{fill:" + colour + "}\n";
  }
  return css;
}

std::string legend_symbol(const SvgLegendEntry& entry, double x, double y) {
  if (!entry.symbol.empty()) {
    return "<g transform=\"translate(" + svg_number(x + 7) + " " +
           svg_number(y - 4.5) + ")\">" + entry.symbol + "</g>\n";
  }
  if (entry.line) return svg_line(x, y - 4, x + 14, y - 4, entry.css_class);
  return "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y - 10) +
         "\" width=\"12\" height=\"12\" rx=\"2\" class=\"" + entry.css_class +
         "\"/>\n";
}

}  // namespace

// The rules name .kith-chart because a style element within a page is not
// confined to its own SVG; :root holds only where the SVG is the document.
std::string svg_rules() {
  return ".kith-chart{font:13px system-ui,-apple-system,'Segoe UI',Roboto,"
         "'Noto Sans','Liberation Sans',Arial,sans-serif}\n"
         ".kith-chart:root{color:#1f2328;background:#fff}\n"
         ".kith-chart text{fill:currentColor}\n"
         ".kith-chart .t{font-size:15px;font-weight:600}\n"
         ".kith-chart .a{fill-opacity:.72}\n"
         ".kith-chart .m{text-anchor:middle}\n"
         ".kith-chart .e{text-anchor:end}\n"
         ".kith-chart .v{font-size:12px;font-weight:600}\n"
         ".kith-chart .n{font-variant-numeric:tabular-nums}\n"
         ".kith-chart .g{stroke:currentColor;stroke-opacity:.13}\n"
         ".kith-chart .x{stroke:currentColor;stroke-opacity:.5}\n"
         ".kith-chart .l{fill:none;stroke-width:2.25;stroke-linejoin:round;"
         "stroke-linecap:round}\n"
         ".kith-chart .w{stroke-width:1;stroke-opacity:.45;fill-opacity:.45}\n"
         ".kith-chart .k{stroke-width:2.5}\n"
         ".kith-chart .d{stroke-dasharray:6 4}\n"
         ".kith-chart .i{stroke-width:1.4;stroke-opacity:.75}\n"
         ".kith-chart .b{fill-opacity:.16}\n"
         ".kith-chart .o{fill:none;stroke:currentColor;stroke-width:1.3}\n"
         ".kith-chart .q{font-size:11px}\n"
         ".kith-chart .u{stroke-opacity:.25}\n"
         ".kith-chart .fm{fill:#8b949e}\n" +
         colour_rules(kLight) +
         "@media (prefers-color-scheme:dark){\n"
         ".kith-chart:root{color:#e6edf3;background:#0f1318}\n" +
         colour_rules(kDark) + "}\n";
}

const std::string& svg_style() {
  static const std::string style = "<style>\n" + svg_rules() + "</style>\n";
  return style;
}

std::string svg_number(double value) { return format_fixed(value, 1); }

double svg_text_width(std::string_view text, double font) {
  const auto characters = std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return static_cast<double>(characters) * font * kCharWidth;
}

std::string svg_fit(std::string text, double width, double font) {
  if (svg_text_width(text, font) <= width) return text;
  while (!text.empty() && svg_text_width(text, font) + font > width) {
    while (!text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
  }
  return text + "…";
}

std::string svg_text(double x, double y, std::string_view css_class,
                     std::string_view text) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
         "\" class=\"" + std::string(css_class) + "\">" + html_escape(text) +
         "</text>\n";
}

std::string svg_line(double x1, double y1, double x2, double y2,
                     std::string_view css_class) {
  return "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) +
         "\" x2=\"" + svg_number(x2) + "\" y2=\"" + svg_number(y2) +
         "\" class=\"" + std::string(css_class) + "\"/>\n";
}

std::string svg_open(const std::string& title, double width, double height) {
  return "<svg class=\"kith-chart\" xmlns=\"http://www.w3.org/2000/svg\" "
         "viewBox=\"0 0 " +
         format_fixed(width, 0) + " " + format_fixed(height, 0) +
         "\" role=\"img\">\n<title>" + html_escape(title) + "</title>\n" +
         svg_style() + svg_text(0, 16, "t", svg_fit(title, width, kTitleFont));
}

std::string svg_mark(double x, double y, size_t series,
                     const std::string& tip) {
  constexpr double kRadius = 4.0;
  const std::string end = "\" class=\"" + svg_fill_class(series) +
                          "\"><title>" + html_escape(tip) + "</title></";
  const size_t shape = series / kColours % 3;
  if (shape == 0) {
    return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) +
           "\" r=\"" + svg_number(kRadius) + end + "circle>\n";
  }
  // A square of about the disc's area, standing on its tip in the third shape.
  const double half = 0.9 * kRadius;
  const std::string turn = shape == 1
                               ? ""
                               : "\" transform=\"rotate(45 " + svg_number(x) +
                                     " " + svg_number(y) + ")";
  return "<rect x=\"" + svg_number(x - half) + "\" y=\"" +
         svg_number(y - half) + "\" width=\"" + svg_number(2 * half) +
         "\" height=\"" + svg_number(2 * half) + turn + end + "rect>\n";
}

std::string svg_ring(double x, double y, const std::string& tip) {
  return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) +
         "\" r=\"5.5\" class=\"o\"><title>" + html_escape(tip) +
         "</title></circle>\n";
}

double svg_add_legend(std::string& svg,
                      const std::vector<SvgLegendEntry>& entries,
                      const SvgLegendBox& box) {
  constexpr double kRow = 20.0, kSwatch = 20.0, kGap = 18.0;
  const double last_row = box.first_row + 4 * kRow;
  double x = 0.0, y = box.first_row;
  for (size_t i = 0; i < entries.size(); ++i) {
    const SvgLegendEntry& entry = entries[i];
    const std::string name = svg_fit(entry.name, box.width - kSwatch);
    const double width = kSwatch + svg_text_width(name, kSvgFont);
    if (x > 0.0 && x + width > box.width) {
      x = 0.0;
      y += kRow;
    }
    if (y > last_row) {  // the plot needs the rest of the height
      svg += svg_text(0, y, "a",
                      "and " + std::to_string(entries.size() - i) + " more");
      break;
    }
    svg += legend_symbol(entry, x, y);
    svg += svg_text(x + kSwatch, y, "", name);
    x += width + kGap;
  }
  return entries.empty() ? box.first_row - 16.0 : y + 8.0;
}

double svg_add_head(std::string& svg, const std::string& note,
                    const std::vector<SvgLegendEntry>& entries, double width) {
  SvgLegendBox box;
  box.width = width;
  if (!note.empty()) {
    svg += svg_text(0, 37, "a", svg_fit(note, width));
    box.first_row += 21.0;
  }
  return svg_add_legend(svg, entries, box);
}

void svg_add_y_axis(std::string& svg, SvgPlot& plot, const Axis& axis,
                    std::string_view unit) {
  double widest = 0.0;
  for (const double tick : axis.ticks()) {
    widest = std::max(
        widest, svg_text_width(axis.label(tick) + std::string(unit), kSvgFont));
  }
  plot.left = std::min(widest + 13.0, kSvgWidth / 3);
  for (const double tick : axis.ticks()) {
    const double y = plot.y(axis, tick);
    svg += svg_line(plot.left, y, plot.right, y, "g");
    svg += svg_text(plot.left - 8, y + 4.5, "a n e",
                    axis.label(tick) + std::string(unit));
  }
}

void svg_add_x_axis(std::string& svg, const SvgPlot& plot, const Axis& axis,
                    const std::string& label) {
  svg += svg_line(plot.left, plot.bottom, plot.right, plot.bottom, "x");
  double free = -kSvgFont;  // right of the numbers so far
  for (const double tick : axis.ticks()) {
    const double x = plot.x(axis, tick);
    svg += svg_line(x, plot.bottom, x, plot.bottom + 4, "x");
    // At the right edge a centred label would be cut off.
    const double half = svg_text_width(axis.label(tick), kSvgFont) / 2;
    const double middle = std::min(x, plot.right + 8 - half);
    if (middle - half < free) continue;
    free = middle + half;
    svg += svg_text(middle, plot.bottom + 19, "a n m", axis.label(tick));
  }
  svg += svg_text((plot.left + plot.right) / 2, plot.bottom + 40, "a m",
                  svg_fit(label, plot.right - plot.left));
}

void svg_add_no_data(std::string& svg, const SvgPlot& plot) {
  svg += svg_text((plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2,
                  "a m", "no data");
}

std::string svg_stroke_class(size_t series) {
  return "s" + std::to_string(series % kColours) +
         (series < kColours ? "" : " d");
}

std::string svg_fill_class(size_t series) {
  return "f" + std::to_string(series % kColours);
}

}  // namespace kith
