// What is found among smaller vectors, for the bytes that they take.

#include <cmath>

#include "kith/chart/mark_chart.h"
#include "kith/chart/svg.h"
#include "kith/core/number_text.h"
#include "kith/report/metric_record.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

double compressed_value(const EvalMetrics::Compressed& one,
                        const std::string& metric) {
  const auto found = one.metrics.find(metric);
  return found == one.metrics.end() ? NAN : found->second;
}

std::string bytes_chart(const Report& report, const RecordedMetric& metric) {
  MarkChart chart;
  chart.title = metric.name + " by the bytes of an item";
  chart.x_label = "bytes of an item";
  chart.y_label = metric.is_share ? metric.name + ", %" : metric.name;
  chart.log_x = true;
  chart.show_names = true;
  chart.width = kSvgWidth;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    MarkSeries series;
    series.name = report.runs[run].name;
    series.style = MarkStyle::kMarks;
    series.colour = run;
    for (const auto& one : report.runs[run].compressed) {
      const double value = compressed_value(one, metric.name);
      ChartMark mark{static_cast<double>(one.bytes),
                     metric.is_share ? 100 * value : value};
      mark.name = one.form;
      series.marks.push_back(std::move(mark));
    }
    if (!series.marks.empty()) chart.series.push_back(std::move(series));
  }
  return chart_figure("compressed", mark_chart(chart));
}

std::string compressed_table(const RunRecord& run,
                             const std::vector<RecordedMetric>& metrics) {
  HtmlTable table;
  table.label = "Metrics of galleries of smaller vectors";
  table.columns = {{"Vectors", false}, {"Bytes", true}};
  for (const RecordedMetric& metric : metrics) {
    table.columns.push_back({metric.name, true});
  }
  const EvalMetrics::Compressed& whole = run.compressed.front();
  for (const EvalMetrics::Compressed& one : run.compressed) {
    std::vector<HtmlCell> cells = {{one.form, ""}, {count_text(one.bytes), ""}};
    for (const RecordedMetric& metric : metrics) {
      const double value = compressed_value(one, metric.name);
      const double before = compressed_value(whole, metric.name);
      cells.push_back({metric_text(value, metric.is_share),
                       &one == &whole || !std::isfinite(value)
                           ? ""
                           : difference_text(before, value, metric.is_share)});
    }
    table.rows.push_back(std::move(cells));
  }
  return html_table(table);
}

}  // namespace

std::string compressed_section(const Report& report) {
  const std::vector<RecordedMetric> metrics =
      scored_metrics(report.runs, [](const RunRecord& run) {
        return run.compressed.empty() ? nullptr
                                      : &run.compressed.front().metrics;
      });
  if (metrics.empty()) return "";
  std::string html = bytes_chart(report, metrics.front());
  for (size_t run = 0; run < report.runs.size(); ++run) {
    if (report.runs[run].compressed.empty()) continue;
    if (report.runs.size() > 1) html += heading(3, run_name(report, run));
    html += compressed_table(report.runs[run], metrics);
  }
  return html + note(
                    "Small: the difference to embeddings as they are; of "
                    "percentages in points.");
}

}  // namespace kith
