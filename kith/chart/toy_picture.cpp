#include "kith/chart/toy_picture.h"

#include <algorithm>
#include <cmath>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
namespace {

constexpr double kPanel = 200.0;
constexpr double kPanelGap = 28.0;
constexpr double kLeft = 1.0;
constexpr double kToyWidth = 2 * kLeft + 4 * kPanel + 3 * kPanelGap;
constexpr double kTop = 58.0;   // above the first row: title and legend
constexpr double kHead = 44.0;  // of a row, above its panels
constexpr double kPanelRow = kHead + kPanel + 30.0;
constexpr double kDot = 3.2;

/// A square of the picture.
struct Panel {
  double left = 0.0;
  double top = 0.0;

  double middle() const { return left + kPanel / 2; }
  double bottom() const { return top + kPanel; }
};

/// A training point is a disc, a test point a diamond that stands on its tip.
std::string mark(double x, double y, size_t series, bool test) {
  const std::string end = "\" class=\"" + svg_fill_class(series) + "\"/>\n";
  if (!test) {
    return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) +
           "\" r=\"" + svg_number(kDot) + end;
  }
  const double reach = kDot * 1.45;
  return "<path d=\"M" + svg_number(x) + " " + svg_number(y - reach) + "L" +
         svg_number(x + reach) + " " + svg_number(y) + "L" + svg_number(x) +
         " " + svg_number(y + reach) + "L" + svg_number(x - reach) + " " +
         svg_number(y) + "Z" + end;
}

std::string frame(const Panel& panel) {
  return "<rect x=\"" + svg_number(panel.left) + "\" y=\"" +
         svg_number(panel.top) + "\" width=\"" + svg_number(kPanel) +
         "\" height=\"" + svg_number(kPanel) +
         "\" rx=\"4\" fill=\"none\" class=\"g\"/>\n";
}

std::string draw_points(const Panel& panel,
                        const std::vector<ToyClass>& classes, bool test) {
  std::string svg;
  for (size_t series = 0; series < classes.size(); ++series) {
    for (const ChartPoint& point : classes[series].points) {
      if (!drawable(point)) continue;
      svg += mark(panel.left + kPanel * point.x,
                  panel.bottom() - kPanel * point.y, series, test);
    }
  }
  return svg;
}

std::string draw_circle(const Panel& panel,
                        const std::vector<ToyClass>& classes, bool test) {
  constexpr double kRadius = 56.0, kFirstRing = 9.0;
  const double room = kPanel / 2 - kRadius - kFirstRing - 2 * kDot;
  const double rings = static_cast<double>(std::max<size_t>(classes.size(), 2));
  const double x0 = panel.middle(), y0 = panel.top + kPanel / 2;
  std::string svg = "<circle cx=\"" + svg_number(x0) + "\" cy=\"" +
                    svg_number(y0) + "\" r=\"" + svg_number(kRadius) +
                    "\" fill=\"none\" class=\"x\"/>\n";
  std::string marks;  // above all spokes
  for (size_t series = 0; series < classes.size(); ++series) {
    const double radius =
        kRadius + kFirstRing + room * static_cast<double>(series) / (rings - 1);
    for (const ChartPoint& point : classes[series].embeddings) {
      if (!drawable(point)) continue;
      const double angle = std::atan2(point.y, point.x);
      const double x = x0 + radius * std::cos(angle);
      const double y = y0 - radius * std::sin(angle);
      svg += svg_line(x0, y0, x, y, svg_stroke_class(series) + " w");
      marks += mark(x, y, series, test);
    }
  }
  return svg + marks;
}

std::string draw_spectrum(const Panel& panel,
                          const std::vector<double>& shares) {
  constexpr double kAbove = 22.0;  // for the number on the highest bar
  std::string svg = svg_line(panel.left, panel.bottom(), panel.left + kPanel,
                             panel.bottom(), "x");
  const double place =
      kPanel / static_cast<double>(std::max<size_t>(shares.size(), 1));
  for (size_t i = 0; i < shares.size(); ++i) {
    const double x = panel.left + place * (static_cast<double>(i) + 0.5);
    const bool finite = plottable(shares[i]);
    const double share = finite ? std::clamp(shares[i], 0.0, 1.0) : 0.0;
    const double height = (kPanel - kAbove) * share;
    svg += "<rect x=\"" + svg_number(x - place * 0.3) + "\" y=\"" +
           svg_number(panel.bottom() - height) + "\" width=\"" +
           svg_number(place * 0.6) + "\" height=\"" + svg_number(height) +
           "\" rx=\"2\" class=\"fm\"/>\n";
    svg += svg_text(x, panel.bottom() - height - 6, "v n m",
                    finite ? format_fixed(shares[i], 3) : "–");
  }
  return svg;
}

std::string draw_row(const ToyRow& row, double top) {
  const auto panel = [&](int column) {
    return Panel{kLeft + column * (kPanel + kPanelGap), top + kHead};
  };
  std::string svg = svg_line(kLeft, top, kToyWidth - kLeft, top, "g");
  const std::string title = svg_fit(row.title, kToyWidth / 2, 15);
  svg += svg_text(kLeft, top + 26, "t", title);
  svg += svg_text(kToyWidth - kLeft, top + 26, "a n e",
                  svg_fit(row.note, kToyWidth / 2 - kPanelGap));
  for (int column = 0; column < 3; ++column) svg += frame(panel(column));
  svg += draw_points(panel(0), row.train, false);
  svg += draw_points(panel(0), row.test, true);
  svg += draw_circle(panel(1), row.train, false);
  svg += draw_circle(panel(2), row.test, true);
  svg += draw_spectrum(panel(3), row.spectrum);
  constexpr const char* kCaptions[] = {"points", "training embeddings",
                                       "test embeddings",
                                       "singular values (shares)"};
  for (int column = 0; column < 4; ++column) {
    svg += svg_text(panel(column).middle(), panel(column).bottom() + 18, "a m",
                    kCaptions[column]);
  }
  return svg;
}

/// The marks of both splits, a mark a class.
std::string draw_legend(const std::vector<ToyRow>& rows) {
  std::string svg;
  double x = kLeft + kDot;
  const double y = 40.0;
  for (const bool test : {false, true}) {
    size_t classes = 0;
    for (const ToyRow& row : rows) {
      classes = std::max(classes, (test ? row.test : row.train).size());
    }
    for (size_t series = 0; series < std::min<size_t>(classes, 8); ++series) {
      svg += mark(x, y - 4, series, test);
      x += 12.0;
    }
    const std::string name = test ? "test lines" : "training lines";
    svg += svg_text(x, y, "", name);
    x += svg_text_width(name, kSvgFont) + kPanelGap;
  }
  svg += svg_text(x, y, "a",
                  "on a circle, each class on a ring of its own: its direction "
                  "counts");
  return svg;
}

}  // namespace

std::string toy_picture(const std::vector<ToyRow>& rows) {
  const double height = kTop + kPanelRow * static_cast<double>(rows.size());
  std::string svg =
      svg_open("Points in the plane and their embeddings", kToyWidth, height);
  svg += draw_legend(rows);
  double top = kTop;
  for (const ToyRow& row : rows) {
    svg += draw_row(row, top);
    top += kPanelRow;
  }
  return svg + "</svg>\n";
}

}  // namespace kith
