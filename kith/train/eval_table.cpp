#include "kith/train/eval_table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kith/core/number_text.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"

namespace kith {
namespace {

using Row = std::vector<std::string>;

constexpr const char* kNone = "-";

/// Of the evaluations during training the first with the best value.
const RunPoint* best_of(const std::vector<RunPoint>& history,
                        const MetricValue& metric) {
  const RunPoint* best = nullptr;
  double known = NAN;
  for (const RunPoint& point : history) {
    const double value = point.found.at(metric.name);
    if (point.step == 0 || !is_better(value, known, metric.better)) {
      continue;
    }
    best = &point;
    known = value;
  }
  return best;
}

Row metric_row(const MetricValue& metric,
               const std::vector<RunPoint>& history) {
  Row row = {metric.name,
             metric_text(metric.value, metric.is_share, kPlainStyle)};
  if (history.size() < 2) return row;
  const RunPoint& before = history.at(history.size() - 2);
  row.push_back(change_text(metric.value - before.found.at(metric.name),
                            metric.is_share));
  const RunPoint* best = best_of(history, metric);
  row.push_back(best == nullptr ? kNone
                                : metric_text(best->found.at(metric.name),
                                              metric.is_share, kPlainStyle));
  row.push_back(best == nullptr ? kNone : std::to_string(best->epoch));
  return row;
}

/// Rows in columns, the first flush left and the others flush right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    text += "\n  " + row[0] + std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i) {
      text += "  " + std::string(widths[i] - row[i].size(), ' ') + row[i];
    }
  }
  return text;
}

}  // namespace

std::string eval_table(const std::string& title, const EvalResult& result,
                       const std::vector<RunPoint>& history) {
  Row head = {"metric", "value"};
  if (history.size() > 1) {
    head.insert(head.end(), {"change", "best", "epoch"});
  }
  std::vector<Row> rows = {head};
  for (const MetricValue& metric : result.metrics) {
    if (metric.list.empty()) rows.push_back(metric_row(metric, history));
  }
  return title + aligned(rows);
}

std::string last_metric_text(const std::vector<RunPoint>& history,
                             const std::string& metric) {
  if (history.empty()) return "";
  const RunPoint& last = history.back();
  for (const StoredMetric& found : last.found.metrics) {
    const std::string plain = MetricName::parse(found.name).metric();
    if (found.is_list() || (found.name != metric && plain != metric)) continue;
    const bool is_share = parse_metrics({plain}).front().metric->is_share();
    return found.name + " " + metric_text(found.value, is_share, kPlainStyle) +
           " (epoch " + std::to_string(last.epoch) + ")";
  }
  return "";
}

}  // namespace kith
