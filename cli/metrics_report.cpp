#include "cli/metrics_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "cli/common.h"
#include "kith/core/number_text.h"
#include "kith/core/quote.h"
#include "kith/eval/metric_name.h"

namespace kith {
namespace {

/// In percent if it is a share; otherwise the number itself.
std::string shown(double value, const MetricValue& metric) {
  if (!metric.list.empty()) return "in JSON";
  return metric_text(value, metric.is_share, kPlainStyle);
}

std::string shown_interval(const MetricValue& metric) {
  if (!metric.interval || std::isnan(metric.interval->low)) return "";
  const double factor = metric.is_share ? 100 : 1;
  return "[" + format_fixed(factor * metric.interval->low, 2) + ", " +
         format_fixed(factor * metric.interval->high, 2) + "]";
}

void print_corruption_row(const std::string& name, const EvalResult& columns,
                          const std::function<double(size_t)>& value) {
  std::printf("%-18s", name.c_str());
  for (size_t m = 0; m < columns.metrics.size(); ++m) {
    const MetricValue& metric = columns.metrics[m];
    if (!metric.list.empty()) continue;
    const auto width =
        static_cast<int>(std::max<size_t>(metric.name.size(), 8));
    const double number = value(m);
    std::printf("  %*s", width,
                metric_text(number, metric.is_share, kPlainStyle).c_str());
  }
  std::printf("\n");
}

}  // namespace

std::vector<MetricColumn> published_column(
    const std::map<std::string, double>& shares, const std::string& source) {
  if (shares.empty() && source.empty()) return {};
  return {{"published", shares, source}};
}

void print_metrics(const EvalResult& result,
                   const std::vector<MetricColumn>& beside,
                   const std::string& title) {
  size_t width = 18;
  bool with_intervals = false;
  for (const MetricValue& m : result.metrics) {
    width = std::max(width, m.name.size());
    with_intervals |= !shown_interval(m).empty();
  }
  const auto print_row = [&](const std::string& name, const auto& cell,
                             const std::string& last,
                             const std::string& interval) {
    std::printf("%-*s", static_cast<int>(width), printable(name).c_str());
    for (const MetricColumn& column : beside) {
      std::printf(" %10s", std::string(cell(column)).c_str());
    }
    std::printf(" %10s", last.c_str());
    if (!interval.empty()) std::printf("  %s", interval.c_str());
    std::printf("\n");
  };
  if (!beside.empty() || with_intervals) {
    print_row(
        "", [](const MetricColumn& c) { return c.title; },
        beside.empty() ? "value" : title, with_intervals ? "95% interval" : "");
  }
  for (const MetricValue& m : result.metrics) {
    const auto value = [&](const MetricColumn& column) {
      const auto found = column.values.find(m.name);
      return found == column.values.end() ? "" : shown(found->second, m);
    };
    print_row(m.name, value, shown(m.value, m), shown_interval(m));
  }
  for (const MetricColumn& column : beside) {
    if (column.source.empty()) continue;
    print_line(column.title + ": " + column.source);
  }
  print_line("(" + result.protocol_line() + ")");
}

void print_reranked(const EvalResult& before, const EvalResult& after) {
  MetricColumn column{"before", {}};
  for (const MetricValue& m : before.metrics) column.values[m.name] = m.value;
  print_line("");
  print_metrics(after, {column}, "re-ranked");
}

void print_definitions(const EvalResult& result) {
  std::set<std::string> seen;
  for (const MetricValue& m : result.metrics) {
    const std::string name = MetricName::parse(m.name).general();
    if (seen.insert(name).second) print_line(name + ": " + m.definition);
  }
}

void print_corruptions(const EvalResult& clean,
                       const std::vector<CorruptedResult>& corrupted) {
  std::printf("\n%-18s", "");
  for (const MetricValue& m : clean.metrics) {
    if (!m.list.empty()) continue;
    std::printf("  %*s", static_cast<int>(std::max<size_t>(m.name.size(), 8)),
                m.name.c_str());
  }
  std::printf("\n");
  print_corruption_row("clean", clean,
                       [&](size_t m) { return clean.metrics[m].value; });
  for (const CorruptedResult& one : corrupted) {
    print_corruption_row(one.corruption, clean,
                         [&](size_t m) { return one.result.metrics[m].value; });
  }
  print_corruption_row("mean of corrupted", clean, [&](size_t m) {
    return mean_of_corrupted(corrupted, m);
  });
}

void print_compressed(const std::vector<CompressedResult>& compressed) {
  size_t width = 18;
  for (const CompressedResult& one : compressed) {
    width = std::max(width, one.form.size());
  }
  const auto column = [](const MetricValue& metric) {
    return static_cast<int>(std::max<size_t>(metric.name.size(), 8));
  };
  std::printf("\n%-*s  %8s", static_cast<int>(width), "vectors", "bytes");
  for (const MetricValue& metric : compressed.front().result.metrics) {
    std::printf("  %*s", column(metric), metric.name.c_str());
  }
  std::printf("\n");
  for (const CompressedResult& one : compressed) {
    std::printf("%-*s  %8lld", static_cast<int>(width), one.form.c_str(),
                static_cast<long long>(one.bytes));
    for (const MetricValue& metric : one.result.metrics) {
      std::printf(
          "  %*s", column(metric),
          metric_text(metric.value, metric.is_share, kPlainStyle).c_str());
    }
    std::printf("\n");
  }
}

}  // namespace kith
