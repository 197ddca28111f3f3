// The metrics of the last evaluations, and the rules they stand on.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "kith/chart/chart.h"
#include "kith/core/number_text.h"
#include "kith/eval/metric.h"
#include "kith/report/metric_record.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

template <class Has>
bool any_metric(const RunRecord& run, const Has& has) {
  return std::any_of(run.metrics.begin(), run.metrics.end(), has);
}

/// The head of a metric's row, with the definition unless the row above, such
/// as that of recall_any@1 above recall_any@2, has the same.
HtmlCell metric_cell(const RecordedMetric& metric, std::string& above) {
  if (metric.definition == above) return {metric.name, ""};
  above = metric.definition;
  return {metric.name, metric.definition};
}

/// "[97.65, 98.52]"; nothing without an interval.
std::string interval_text(const RecordedMetric& metric) {
  if (!metric.interval) return "";
  constexpr MetricStyle kBare{kDash, "", false};
  return "[" + metric_text(metric.interval->low, metric.is_share, kBare) +
         ", " + metric_text(metric.interval->high, metric.is_share, kBare) +
         "]";
}

/// One run: before, after, their difference, and what was published.
std::string table_of_one(const RunRecord& run) {
  const bool compared = any_metric(
      run, [](const RecordedMetric& m) { return m.before.has_value(); });
  const bool published = any_metric(
      run, [](const RecordedMetric& m) { return m.published.has_value(); });
  const bool reranked = any_metric(
      run, [](const RecordedMetric& m) { return m.reranked.has_value(); });
  const bool shares =
      !any_metric(run, [](const RecordedMetric& m) { return !m.is_share; });
  HtmlTable table;
  table.label = "Metrics";
  table.columns = {{"Metric", false}};
  if (compared) table.columns.push_back({"Before training", true});
  table.columns.push_back({compared ? "After" : "Value", true});
  if (compared) {
    table.columns.push_back(
        {shares ? "Difference, points" : "Difference", true});
  }
  if (reranked) table.columns.push_back({"Re-ranked", true});
  if (published) table.columns.push_back({"Published", true});
  std::string above;
  for (const RecordedMetric& m : run.metrics) {
    const double before = m.before.value_or(NAN);
    std::vector<HtmlCell> row = {metric_cell(m, above)};
    if (compared) row.push_back({metric_text(before, m.is_share), ""});
    row.push_back({metric_text(m.value, m.is_share), interval_text(m)});
    if (compared) {
      row.push_back({difference_text(before, m.value, m.is_share), ""});
    }
    if (reranked) {
      const double value = m.reranked.value_or(NAN);
      row.push_back({metric_text(value, m.is_share),
                     std::isfinite(value)
                         ? difference_text(m.value, value, m.is_share)
                         : ""});
    }
    if (published) {
      row.push_back({metric_text(m.published.value_or(NAN), m.is_share), ""});
    }
    table.rows.push_back(std::move(row));
  }
  return html_table(table);
}

std::string protocol_text(const RunRecord& run) {
  if (run.rules.empty()) return "";
  return (run.protocol.empty() ? "" : "Protocol " + run.protocol + ", ") +
         (run.split.empty() ? "" : run.split + " split: ") + run.rules;
}

/// Whether all evaluated runs were tested by the same rules.
bool same_rules(const Report& report) {
  std::set<std::string> rules;
  for (const RunRecord& run : report.runs) {
    if (!run.metrics.empty()) rules.insert(protocol_text(run));
  }
  return rules.size() <= 1;
}

/// The best of a row, as it is printed. Empty if the runs do not differ, or no
/// value of the metric is better than another.
std::string best_of_row(const Report& report, const RecordedMetric& row) {
  const Better better = better_of(row.name);
  double best = NAN;
  std::set<std::string> texts;
  for (const RunRecord& run : report.runs) {
    const RecordedMetric* metric = find_metric(run, row.name);
    if (metric == nullptr || !std::isfinite(metric->value)) continue;
    if (is_better(metric->value, best, better)) best = metric->value;
    texts.insert(metric_text(metric->value, row.is_share));
  }
  return std::isfinite(best) && texts.size() > 1
             ? metric_text(best, row.is_share)
             : "";
}

/// What stands below a run's number, a line each: its interval, what was before
/// training and how far it came, what was published.
std::string beside_text_of(const RecordedMetric& metric) {
  std::string text = interval_text(metric);
  const auto add = [&text](const std::string& line) {
    text += (text.empty() ? "" : "\n") + line;
  };
  if (metric.before && std::isfinite(*metric.before)) {
    add("before " + metric_text(*metric.before, metric.is_share) + ", " +
        difference_text(*metric.before, metric.value, metric.is_share));
  }
  if (metric.reranked) {
    add("re-ranked " + metric_text(*metric.reranked, metric.is_share) + ", " +
        difference_text(metric.value, *metric.reranked, metric.is_share));
  }
  if (metric.published) {
    add("published " + metric_text(*metric.published, metric.is_share));
  }
  return text;
}

/// Several runs: a column each.
std::string table_of_several(const Report& report) {
  HtmlTable table =
      table_of_runs(report, "Metric", "Metrics", /*numbers=*/true);
  const bool comparable = same_rules(report);
  std::string above;
  for (const RecordedMetric& row : metrics_of(report.runs)) {
    const std::string best = comparable ? best_of_row(report, row) : "";
    std::vector<HtmlCell> cells = {metric_cell(row, above)};
    for (const RunRecord& run : report.runs) {
      HtmlCell cell{kDash, ""};
      if (const RecordedMetric* metric = find_metric(run, row.name)) {
        cell.text = metric_text(metric->value, row.is_share);
        cell.strong = cell.text == best;
        cell.note = beside_text_of(*metric);
      }
      cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(cells));
  }
  return html_table(table);
}

/// A text of each run below the table: once if all have the same.
std::string notes_of_runs(const Report& report, const std::string& lead,
                          std::string (*text)(const RunRecord& run)) {
  std::set<std::string> texts;
  for (const RunRecord& run : report.runs) {
    if (!text(run).empty()) texts.insert(text(run));
  }
  if (texts.empty()) return "";
  if (texts.size() == 1) return note(lead + *texts.begin() + ".");
  std::string html;
  for (const RunRecord& run : report.runs) {
    if (!text(run).empty())
      html += note(run.name + ": " + lead + text(run) + ".");
  }
  return html;
}

/// What the brackets are, or how to get them.
std::string intervals_note(const Report& report) {
  const std::string notes =
      notes_of_runs(report, "In brackets: intervals, ",
                    [](const RunRecord& run) { return run.intervals_rule; });
  const bool all = std::none_of(
      report.runs.begin(), report.runs.end(), [](const RunRecord& run) {
        return run.intervals_rule.empty() && !run.metrics.empty();
      });
  return notes + (all ? ""
                      : note("kith eval computes 95% intervals; a run whose "
                             "last network it has scored is shown with them."));
}

/// Which of several evaluations was the best, and by which images: one that is
/// chosen by the images it is judged on is better than on others.
std::string best_notes_of_runs(const Report& report) {
  std::string lines;
  bool on_test = false;
  for (const RunRecord& run : report.runs) {
    const auto trained =
        std::count_if(run.evals.begin(), run.evals.end(),
                      [](const LoggedEval& eval) { return eval.step > 0; });
    if (run.best.empty() || trained < 2) continue;
    lines += (report.runs.size() > 1 ? run.name + ": best" : "Best") + " of " +
             count_text(trained) + " evaluations: " + run.best + ".\n";
    on_test = on_test || run.best.ends_with("the test split");
  }
  if (lines.empty()) return "";
  return note(lines + "The table is of the last evaluation." +
              (on_test ? " A best that was chosen on the test split is "
                         "flattered by it."
                       : ""));
}

/// The k of "recall_any@k"; 0 of other names.
int64_t recall_k(const std::string& name) {
  constexpr std::string_view kPrefix = "recall_any@";
  int64_t k = 0;
  if (!name.starts_with(kPrefix)) return 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), k);
  return k;
}

std::string recall_bars(const RunRecord& run) {
  BarChart chart;
  chart.title = "Recall@k";
  BarSeries before{"before training", {}, /*muted=*/true};
  BarSeries after{"after training", {}};
  bool compared = false;
  for (const RecordedMetric& metric : run.metrics) {
    const int64_t k = recall_k(metric.name);
    if (k == 0) continue;
    chart.groups.push_back("R@" + std::to_string(k));
    before.values.push_back(100 * metric.before.value_or(NAN));
    after.values.push_back(100 * metric.value);
    compared = compared || metric.before.has_value();
  }
  if (!compared) return "";
  chart.series = {std::move(before), std::move(after)};
  return "<div class=\"charts\">\n" + chart_figure("recall", bar_chart(chart)) +
         "</div>\n";
}

}  // namespace

std::string results_section(const Report& report) {
  if (metrics_of(report.runs).empty()) return "";
  const bool one = report.runs.size() == 1;
  std::string html =
      "<div class=\"metrics\">\n" +
      (one ? table_of_one(report.runs[0]) : table_of_several(report)) +
      "</div>\n<div class=\"rules\">\n";
  if (!one) {
    html += note(same_rules(report)
                     ? "The best of a row is bold."
                     : "The runs are not tested by the same rules: compare "
                       "with care.");
  }
  html += notes_of_runs(report, "", protocol_text);
  html += intervals_note(report);
  html += notes_of_runs(report, "Re-ranked by ",
                        [](const RunRecord& run) { return run.reranked_by; });
  html += best_notes_of_runs(report);
  html += notes_of_runs(report, "On the test split: ", test_text);
  html +=
      notes_of_runs(report, "Published numbers: ", [](const RunRecord& run) {
        return run.published_source;
      });
  html += "</div>\n";
  return one ? html + recall_bars(report.runs[0]) : html;
}

}  // namespace kith
