#include "cli/metrics_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "cli/common.h"
#include "kith/core/log.h"
#include "kith/core/memory.h"
#include "kith/core/number_text.h"
#include "kith/core/quote.h"
#include "kith/eval/eval_json.h"
#include "kith/eval/metric_name.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

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

Json protocol_json(const EvalResult& result, const MetricsContext& context) {
  Json json = Json::object();
  if (!context.protocol.empty()) json["name"] = context.protocol;
  if (!context.split.empty()) json["split"] = context.split;
  json.update(Json::parse(eval_json(result)));
  json.erase("metrics");
  json["similarity"] = "cosine";
  json["ties"] = "lower index first";
  json["without_positives"] =
      result.counted_as_misses ? "count as misses" : "left out";
  return json;
}

/// {"classes": [label...], "names": [...], "queries": [...],
///  "recall_any@1": [...]}: a column each, over the queries of a class that
/// were not left out.
Json class_columns(const EvalResult& result, size_t part,
                   const MetricsContext& context) {
  const std::vector<int64_t>& labels = result.parts[part].query_labels;
  const std::set<int64_t> classes(labels.begin(), labels.end());
  std::map<int64_t, size_t> row;
  for (int64_t label : classes) row.emplace(label, row.size());
  Json json = {{"classes", classes}};
  if (context.class_names != nullptr) {
    for (int64_t label : classes) {
      const auto found = context.class_names->find(label);
      json["names"].push_back(found == context.class_names->end()
                                  ? std::to_string(label)
                                  : found->second);
    }
  }
  for (const MetricValue& metric : result.metrics) {
    if (metric.part != part || metric.by_query.empty()) continue;
    std::vector<double> sum(classes.size());
    std::vector<int64_t> count(classes.size());
    for (size_t q = 0; q < labels.size(); ++q) {
      if (std::isnan(metric.by_query[q])) continue;
      sum[row[labels[q]]] += metric.by_query[q];
      ++count[row[labels[q]]];
    }
    if (!json.contains("queries")) json["queries"] = count;
    for (size_t c = 0; c < sum.size(); ++c) {
      sum[c] /= static_cast<double>(count[c]);  // 0 / 0: null
    }
    json[metric.name] = sum;
  }
  return json;
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

std::vector<MetricColumn> published_column(const ConfigNode& config) {
  const ConfigNode* section = config.find("published");
  if (section == nullptr || !section->is_map()) return {};
  MetricColumn column{"published", {}, ""};
  for (const auto& [name, value] : section->entries) {
    if (name == "source") {
      column.source = value.scalar;
    } else {
      column.values[name] = std::stod(value.scalar) / 100;
    }
  }
  return {column};
}

void print_metrics(const EvalResult& result,
                   const std::vector<MetricColumn>& beside) {
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
        beside.empty() ? "value" : "trained",
        with_intervals ? "95% interval" : "");
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

void print_definitions(const EvalResult& result) {
  std::set<std::string> seen;
  for (const MetricValue& m : result.metrics) {
    const std::string name = MetricName::parse(m.name).general();
    if (seen.insert(name).second) print_line(name + ": " + m.definition);
  }
}

void log_scoring(const EvalResult& result, double seconds) {
  int64_t queries = 0;
  for (const EvalPart& part : result.parts) queries += part.queries;
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "scored %lld queries in %.2f s; peak memory of the process "
      "%lld MB",
      static_cast<long long>(queries), seconds,
      static_cast<long long>(peak_resident_bytes().value_or(0) >> 20));
  log_info(text);
}

Json metrics_json(const EvalResult& result, const MetricsContext& context) {
  Json json = Json::object();
  Json intervals = Json::object();
  Json definitions = Json::object();
  for (const MetricValue& m : result.metrics) {
    json[m.name] = m.list.empty() ? Json(m.value) : Json(m.list);
    definitions[MetricName::parse(m.name).general()] = m.definition;
    if (m.interval) intervals[m.name] = {m.interval->low, m.interval->high};
  }
  json["protocol"] = protocol_json(result, context);
  if (!intervals.empty()) {
    json["intervals"] = intervals;
    json["protocol"]["intervals"] =
        "95%, " + std::to_string(context.resamples) +
        " bootstrap resamples of the queries, seed " +
        std::to_string(context.seed) + "; of draws, Student's t";
  }
  json["definitions"] = definitions;
  if (!context.by_class) return json;
  if (result.parts.size() == 1) {
    json["by_class"] = class_columns(result, 0, context);
    return json;
  }
  for (size_t part = 0; part < result.parts.size(); ++part) {
    json["by_class"][result.parts[part].name] =
        class_columns(result, part, context);
  }
  return json;
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

nlohmann::ordered_json corruptions_json(
    const std::vector<CorruptedResult>& corrupted,
    const MetricsContext& context) {
  auto json = nlohmann::ordered_json::object();
  for (const CorruptedResult& one : corrupted) {
    nlohmann::ordered_json values = metrics_json(one.result, context);
    values.erase("definitions");
    values.erase("protocol");
    json[one.corruption] = values;
  }
  return json;
}

}  // namespace kith
