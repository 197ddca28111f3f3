// What is left of the metrics when the images are corrupted.

#include <cmath>
#include <set>

#include "kith/core/number_text.h"
#include "kith/report/metric_record.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

/// A column of a table: a metric of a run.
struct Column {
  std::string title;
  const RunRecord* run;
  RecordedMetric metric;
};

double value_of(const EvalMetrics::Corrupted& row, const std::string& metric) {
  const auto found = row.metrics.find(metric);
  return found == row.metrics.end() ? NAN : found->second;
}

/// A metric of a run's images as they are ("none") or corrupted in a way.
double value_of(const RunRecord& run, const std::string& corruption,
                const std::string& metric) {
  for (const EvalMetrics::Corrupted& row : run.corruptions) {
    if (row.corruption == corruption) return value_of(row, metric);
  }
  return NAN;
}

double mean_of_corrupted(const RunRecord& run, const std::string& metric) {
  double sum = 0;
  double count = 0;
  for (const EvalMetrics::Corrupted& row : run.corruptions) {
    if (row.corruption == "none") continue;
    sum += value_of(row, metric);
    ++count;
  }
  return sum / count;
}

/// The corruptions of all runs, each once, "none" left out.
std::vector<std::string> corruptions_of(const Report& report) {
  std::vector<std::string> names;
  std::set<std::string> seen = {"none"};
  for (const RunRecord& run : report.runs) {
    for (const EvalMetrics::Corrupted& row : run.corruptions) {
      if (seen.insert(row.corruption).second) names.push_back(row.corruption);
    }
  }
  return names;
}

/// A row with the value of each column and, below it, how far it fell.
template <class Value>
std::vector<HtmlCell> table_row(const std::string& name,
                                const std::vector<Column>& columns,
                                bool with_drop, const Value& value_in) {
  std::vector<HtmlCell> cells = {{name, ""}};
  for (const Column& column : columns) {
    const RecordedMetric& metric = column.metric;
    const double value = value_in(column);
    const double clean = value_of(*column.run, "none", metric.name);
    cells.push_back({metric_text(value, metric.is_share),
                     with_drop && std::isfinite(value)
                         ? difference_text(clean, value, metric.is_share)
                         : ""});
  }
  return cells;
}

std::string corruption_table(const Report& report, const std::string& label,
                             const std::vector<Column>& columns) {
  HtmlTable table;
  table.label = label;
  table.columns = {{"Images", false}};
  for (const Column& column : columns) {
    table.columns.push_back({column.title, true});
  }
  const auto in = [](const std::string& name) {
    return [name](const Column& column) {
      return value_of(*column.run, name, column.metric.name);
    };
  };
  table.rows.push_back(
      table_row("as they are", columns, /*with_drop=*/false, in("none")));
  for (const std::string& name : corruptions_of(report)) {
    table.rows.push_back(table_row(name, columns, true, in(name)));
  }
  table.rows.push_back(
      table_row("mean of corrupted", columns, true, [](const Column& column) {
        return mean_of_corrupted(*column.run, column.metric.name);
      }));
  return html_table(table);
}

const char* const kNote =
    "Small: the difference to the images as they are; of percentages in "
    "points.";

std::string table_of_one(const Report& report,
                         const std::vector<RecordedMetric>& metrics) {
  std::vector<Column> columns;
  for (const RecordedMetric& metric : metrics) {
    columns.push_back({metric.name, &report.runs[0], metric});
  }
  return corruption_table(report, "Metrics of corrupted images", columns) +
         note(kNote);
}

/// A table for each metric, runs side by side; all but the first are folded.
std::string tables_of_several(const Report& report,
                              const std::vector<RecordedMetric>& metrics) {
  std::string html;
  for (const RecordedMetric& metric : metrics) {
    std::vector<Column> columns;
    for (const RunRecord& run : report.runs) {
      columns.push_back({run.name, &run, metric});
    }
    const std::string table =
        corruption_table(report, metric.name + " of corrupted images", columns);
    html += html.empty()
                ? heading(3, html_escape(metric.name)) + table + note(kNote)
                : folded(metric.name, table);
  }
  return html;
}

}  // namespace

std::string corruptions_section(const Report& report) {
  const std::vector<RecordedMetric> metrics =
      scored_metrics(report.runs, [](const RunRecord& run) {
        return run.corruptions.empty() ? nullptr
                                       : &run.corruptions.front().metrics;
      });
  if (metrics.empty()) return "";
  return "<div class=\"corruptions\">\n" +
         (report.runs.size() == 1 ? table_of_one(report, metrics)
                                  : tables_of_several(report, metrics)) +
         "</div>\n";
}

}  // namespace kith
