#include <algorithm>
#include <map>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

constexpr size_t kMostNamed = 12;  // classes in a legend

std::string dot(double x, double y, const std::string& rest) {
  return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) +
         "\" r=\"3.4\"" + rest + "/>";
}

/// The scatter of one run.
class ScatterChart {
 public:
  ScatterChart(const EmbeddingScatter& scatter,
               const std::vector<ScatterItem>& items, std::string title)
      : scatter_(scatter), items_(items), title_(std::move(title)) {
    for (const ScatterPoint& point : scatter.points) {
      if (plottable(point.x) && plottable(point.y)) {
        classes_[point.class_number].push_back(&point);
      }
    }
  }

  std::string draw() const {
    const auto [x_axis, y_axis] = axes();
    std::string head;
    SvgPlot plot;
    plot.top = svg_add_legend(head, legend()) + 12.0;
    head += svg_text(0, plot.top + 4, "a", direction("second", 1));
    plot.top += 22.0;
    plot.bottom = plot.top + kSvgWidth - 48.0;  // about as high as wide
    std::string svg = svg_open(title_, kSvgWidth, plot.bottom + 46.0) +
                      "<desc>" + describe() + "</desc>\n" + head;
    svg_add_y_axis(svg, plot, y_axis, "");
    svg_add_x_axis(svg, plot, x_axis, direction("first", 0));
    for (const auto& [number, points] : classes_) {
      svg += "<g class=\"dots\" fill=\"" + class_colour(number) + "\">\n";
      for (const ScatterPoint* point : points) {
        svg += dot(plot.x(x_axis, point->x), plot.y(y_axis, point->y),
                   " data-item=\"" + std::to_string(point->item) + "\"") +
               "\n";
      }
      svg += "</g>\n";
    }
    return svg + "</svg>\n";
  }

 private:
  /// Of equal length, for distances in the plane to be what they are.
  std::pair<Axis, Axis> axes() const {
    double low[2] = {1e300, 1e300}, high[2] = {-1e300, -1e300};
    for (const auto& [number, points] : classes_) {
      for (const ScatterPoint* point : points) {
        const double place[2] = {point->x, point->y};
        for (size_t i = 0; i < 2; ++i) {
          low[i] = std::min(low[i], place[i]);
          high[i] = std::max(high[i], place[i]);
        }
      }
    }
    const double extent = std::max(high[0] - low[0], high[1] - low[1]);
    const double half = extent > 0.0 ? 0.53 * extent : 1.0;
    const auto axis = [&](size_t i) {
      const double middle = (low[i] + high[i]) / 2;
      return make_axis(middle - half, middle + half, 5, false);
    };
    return {axis(0), axis(1)};
  }

  std::string direction(const std::string& which, size_t i) const {
    return which + " principal direction, " +
           percent_text(scatter_.explained[i]) + " of the variance";
  }

  std::string describe() const {
    return "Embeddings of " +
           count_text(static_cast<int64_t>(scatter_.points.size())) +
           " images of " + count_text(static_cast<int64_t>(classes_.size())) +
           " classes as points.";
  }

  std::vector<SvgLegendEntry> legend() const {
    std::vector<SvgLegendEntry> entries;
    if (classes_.size() > kMostNamed) return entries;
    for (const auto& [number, points] : classes_) {
      const size_t item = points.front()->item;
      if (item >= items_.size()) continue;
      entries.push_back({items_[item].label, "", false,
                         dot(0, 0, " fill=\"" + class_colour(number) + "\"")});
    }
    return entries;
  }

  const EmbeddingScatter& scatter_;
  const std::vector<ScatterItem>& items_;
  std::string title_;
  std::map<int64_t, std::vector<const ScatterPoint*>> classes_;
};

// Unseen: what a script shows of the point under the pointer.
std::string item_list(const ImageGroup& group, const std::string& id) {
  std::string html = "<ol hidden=\"\" id=\"" + id + "\">\n";
  for (const ScatterItem& item : group.scatter_items) {
    html += "<li data-path=\"" + html_escape(item.path) + "\">" +
            html_escape(item.label) + "</li>\n";
  }
  return html + "</ol>\n";
}

std::string group_scatters(const Report& report, size_t number) {
  const ImageGroup& group = report.groups[number];
  std::string charts;
  for (const size_t run : group.runs) {
    const RunInsight* seen = insight_of(report, run);
    if (!seen || seen->scatter.points.empty()) continue;
    const std::string title =
        report.runs.size() > 1 ? report.runs[run].name : "Test embeddings";
    charts += chart_figure(
        "scatter-" + std::to_string(run),
        ScatterChart(seen->scatter, group.scatter_items, title).draw());
  }
  if (charts.empty()) return "";
  const std::string id = "scatter-items-" + std::to_string(number);
  return item_list(group, id) + "<div class=\"charts scatters\" data-items=\"" +
         id + "\" data-sheet=\"" + sheet_class(number) + "\" data-columns=\"" +
         std::to_string(group.scatter_sheet.columns) + "\" data-cell=\"" +
         std::to_string(group.scatter_sheet.cell) + "\">\n" + charts +
         "</div>\n";
}

}  // namespace

std::string scatter_section(const Report& report) {
  std::string html;
  for (size_t i = 0; i < report.groups.size(); ++i) {
    html += group_scatters(report, i);
  }
  return html;
}

}  // namespace kith
