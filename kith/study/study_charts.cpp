// The charts of a study's page.

#include <algorithm>
#include <cmath>
#include <map>

#include "kith/chart/dot_chart.h"
#include "kith/chart/mark_chart.h"
#include "kith/chart/svg.h"
#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/eval/metric.h"
#include "kith/report/page_parts.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"
#include "kith/study/figure_grid.h"
#include "kith/study/study_page.h"

namespace kith {
namespace {

constexpr size_t kMostDots = 40;   // rows of a chart
constexpr size_t kMostCurves = 8;  // that are told apart
constexpr size_t kMostLogs = 40;   // that are read: a log may have megabytes

double unit_of(const std::string& metric) {
  return metric_is_share(metric) ? 100.0 : 1.0;
}

/// Half of what is drawn around a mean: the interval, or of two runs as far as
/// both are.
double half_of(const Spread& spread) {
  return spread.count == 2 ? (spread.high - spread.low) / 2 : spread.half_width;
}

/// Values of the seeds of a combination by epoch.
using ByEpoch = std::map<int64_t, std::vector<double>>;

MarkSeries band(const ByEpoch& values, double unit, const std::string& name,
                size_t colour) {
  MarkSeries series;
  series.name = name;
  series.style = MarkStyle::kCurve;
  series.colour = colour;
  for (const auto& [epoch, of_seeds] : values) {
    const Spread spread = spread_of(of_seeds);
    ChartMark mark;
    mark.x = static_cast<double>(epoch);
    mark.y = unit * spread.mean;
    mark.y_half = unit * half_of(spread);
    series.marks.push_back(mark);
  }
  return series;
}

ByEpoch metric_by_epoch(const StudyResults& results, const Labels& labels,
                        const std::string& metric) {
  ByEpoch values;
  for (const RunResult& run : results.runs) {
    if (run.labels != labels) continue;
    for (const CurvePoint& point : run.curve) {
      const auto found = point.metrics.find(metric);
      if (found == point.metrics.end()) continue;
      values[point.epoch].push_back(found->second);
    }
  }
  return values;
}

/// The mean loss of each epoch. Logs that cannot be read are left out: the
/// table tells of the run.
ByEpoch loss_by_epoch(const StudyResults& results, const Labels& labels,
                      size_t& logs_left) {
  ByEpoch values;
  for (const RunResult& run : results.runs) {
    const std::string log = RunFolder(run.folder).log();
    if (run.labels != labels || logs_left == 0 || !path_exists(log)) continue;
    --logs_left;
    std::map<int64_t, std::pair<double, double>> sums;
    try {
      for (const LoggedStep& step : read_run_log(log).steps) {
        if (!std::isfinite(step.loss)) continue;
        auto& [sum, count] = sums[step.epoch + 1];
        sum += step.loss;
        ++count;
      }
    } catch (const ReadError&) {
      throw;
    } catch (const DataError&) {
      continue;
    }
    for (const auto& [epoch, sum] : sums) {
      values[epoch].push_back(sum.first / sum.second);
    }
  }
  return values;
}

MarkChart curve_chart(const std::string& title, const std::string& y_label) {
  MarkChart chart;
  chart.title = title;
  chart.x_label = "epoch";
  chart.y_label = y_label;
  chart.width = kSvgWidth;
  return chart;
}

/// Draws the curves. Of few epochs each has its tick, for there is no
/// epoch 1.5.
std::string draw_curves(MarkChart& chart) {
  constexpr size_t kMostTicks = 20;
  size_t most = 0;
  for (const MarkSeries& series : chart.series) {
    most = std::max(most, series.marks.size());
  }
  chart.ticks_at_marks = most <= kMostTicks;
  return mark_chart(chart);
}

/// A metric by epoch, if some run was tested often enough.
std::string metric_curves(const StudyResults& results,
                          const std::vector<const StudyRow*>& rows,
                          const std::string& metric) {
  MarkChart chart =
      curve_chart(metric, metric_is_share(metric) ? metric + ", %" : metric);
  bool has_course = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ByEpoch values = metric_by_epoch(results, rows[i]->labels, metric);
    has_course = has_course || values.size() > 2;  // before, and two more
    chart.series.push_back(band(values, unit_of(metric),
                                row_name(*results.study, rows[i]->labels), i));
  }
  return has_course ? chart_figure("metric-" + metric, draw_curves(chart)) : "";
}

std::string loss_curves(const StudyResults& results,
                        const std::vector<const StudyRow*>& rows) {
  MarkChart chart = curve_chart("Training loss", "mean loss of the epoch");
  size_t logs_left = kMostLogs;
  bool has_course = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ByEpoch values = loss_by_epoch(results, rows[i]->labels, logs_left);
    has_course = has_course || values.size() > 1;
    chart.series.push_back(
        band(values, 1.0, row_name(*results.study, rows[i]->labels), i));
  }
  return has_course ? chart_figure("loss", draw_curves(chart)) : "";
}

std::string which_are_drawn(size_t drawn, size_t all) {
  if (drawn == all) return "";
  return "The best " + std::to_string(drawn) + " of " + std::to_string(all) +
         " combinations are drawn. ";
}

}  // namespace

std::string row_name(const Study& study, const Labels& labels) {
  const std::string text = describe_labels(study, labels);
  return text.empty() ? study.title : text;
}

std::vector<const StudyRow*> best_rows(const Study& study,
                                       const StudySummary& summary) {
  const Better better = better_of(study.metrics.front());
  std::vector<const StudyRow*> rows;
  for (const StudyRow& row : summary.rows) {
    if (row.cells.front().spread.count > 0) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const StudyRow* a, const StudyRow* b) {
                     const double x = a->cells.front().spread.mean;
                     const double y = b->cells.front().spread.mean;
                     return is_better(x, y, better) && !is_better(y, x, better);
                   });
  return rows;
}

std::string study_values_html(const StudyResults& results,
                              const StudySummary& summary) {
  const Study& study = *results.study;
  const std::string& metric = study.metrics.front();
  const std::vector<const StudyRow*> rows = best_rows(study, summary);
  if (rows.size() < 2) return "";
  DotChart chart;
  chart.title = metric;
  chart.value_label = metric_is_share(metric) ? metric + ", %" : metric;
  DotSeries series;
  for (const StudyRow* row : rows) {
    if (chart.groups.size() == kMostDots) break;
    const StudyCell& cell = row->cells.front();
    DotValue value{unit_of(metric) * cell.spread.mean,
                   unit_of(metric) * cell.spread.half_width};
    if (cell.published) value.published = *cell.published;
    chart.groups.push_back(row_name(study, row->labels));
    series.values.push_back(value);
  }
  std::vector<int64_t> counts;
  for (const StudyRow* row : rows) counts.push_back(row->runs);
  chart.note = seeds_note(counts);
  const size_t drawn = chart.groups.size();
  chart.series.push_back(std::move(series));
  return chart_figure("values", dot_chart(chart)) +
         note(which_are_drawn(drawn, rows.size()));
}

std::string study_curves_html(const StudyResults& results,
                              const StudySummary& summary) {
  const Study& study = *results.study;
  std::vector<const StudyRow*> rows = best_rows(study, summary);
  const size_t all = rows.size();
  rows.resize(std::min(rows.size(), kMostCurves));
  std::string first, others;
  for (const std::string& metric : study.metrics) {
    if (study.kind(metric) != metric) continue;  // only known at the end
    const std::string chart = metric_curves(results, rows, metric);
    (first.empty() ? first : others) += chart;
  }
  std::string html = first + loss_curves(results, rows);
  if (!html.empty()) html = "<div class=\"charts\">\n" + html + "</div>\n";
  if (!others.empty()) {
    html += folded("The other metrics by epoch",
                   "<div class=\"charts\">\n" + others + "</div>\n");
  }
  if (html.empty()) return "";
  return html +
         note(which_are_drawn(rows.size(), all) +
              "A line is the mean over seeds, its band the 95% interval "
              "(Student's t); of two seeds it reaches from one to the other." +
              (first.empty() ? " The runs were tested at their end alone: "
                               "eval.every tests them on the way."
                             : ""));
}

}  // namespace kith
