#include <algorithm>
#include <set>

#include "kith/chart/mark_chart.h"
#include "kith/chart/svg.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

// Below this share of the largest value rounding is drawn, not the embedding.
constexpr double kLeast = 1e-6;
constexpr size_t kMostPoints = 400;

// Of thousands of values the first hundred, where it bends, and some others.
bool is_drawn(size_t index, size_t count) {
  const size_t stride = std::max<size_t>(count / kMostPoints, 1);
  return index < 100 || index % stride == 0 || index + 1 == count;
}

MarkSeries curve(const std::vector<double>& values, const std::string& name,
                 size_t colour) {
  MarkSeries series;
  series.name = name;
  series.style = MarkStyle::kCurve;
  series.colour = colour;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_drawn(i, values.size()) || !(values[i] > kLeast * values[0])) {
      continue;
    }
    series.marks.push_back({static_cast<double>(i + 1), values[i]});
  }
  return series;
}

MarkSeries uniform(size_t dimensions) {
  MarkSeries series;
  series.name = "all alike (1/" + std::to_string(dimensions) + ")";
  series.style = MarkStyle::kReference;
  const double share = 1.0 / static_cast<double>(dimensions);
  series.marks = {{1.0, share}, {static_cast<double>(dimensions), share}};
  return series;
}

}  // namespace

std::string spectrum_section(const Report& report) {
  MarkChart chart;
  chart.title = "Singular values of the test embeddings";
  chart.x_label = "direction, by its singular value";
  chart.y_label = "share of the sum of singular values";
  chart.log_y = true;
  chart.width = kSvgWidth;
  std::set<size_t> sizes;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const RunInsight* seen = insight_of(report, run);
    if (!seen || seen->spectrum.empty()) continue;
    const bool several = report.runs.size() > 1;
    chart.series.push_back(curve(
        seen->spectrum, several ? report.runs[run].name : "this run", run));
    sizes.insert(seen->spectrum.size());
  }
  if (chart.series.empty()) return "";
  for (const size_t size : sizes) chart.series.push_back(uniform(size));
  return chart_figure("spectrum", mark_chart(chart));
}

}  // namespace kith
