#include "kith/run/eval_metrics.h"

#include <cmath>
#include <set>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/json_text.h"
#include "kith/eval/metric_name.h"
#include "kith/run/detail/eval_metrics_json.h"

namespace kith {
namespace {

constexpr uint64_t kMaxEvalMetricsBytes = uint64_t{64} << 20;

OrderedJson protocol_json(const EvalReport& report) {
  OrderedJson json = OrderedJson::object();
  if (!report.protocol.empty()) json["name"] = report.protocol;
  if (!report.split.empty()) json["split"] = report.split;
  json.update(json_of(stored(report.result)));
  json.erase("metrics");
  json["similarity"] = "cosine";
  json["ties"] = "lower index first";
  json["without_positives"] =
      report.result.counted_as_misses ? "count as misses" : "left out";
  return json;
}

/// {"classes": [label...], "names": [...], "queries": [...],
///  "recall_any@1": [...]}: a column each, over the queries of a class that
/// were not left out.
OrderedJson class_columns(const EvalReport& report, size_t part) {
  const std::vector<int64_t>& labels = report.result.parts[part].query_labels;
  const std::set<int64_t> classes(labels.begin(), labels.end());
  std::map<int64_t, size_t> row;
  for (int64_t label : classes) row.emplace(label, row.size());
  OrderedJson json = {{"classes", classes}};
  if (report.class_names != nullptr) {
    for (int64_t label : classes) {
      const auto found = report.class_names->find(label);
      json["names"].push_back(found == report.class_names->end()
                                  ? std::to_string(label)
                                  : found->second);
    }
  }
  for (const MetricValue& metric : report.result.metrics) {
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

/// Values, and their intervals if there are such.
OrderedJson values_json(const EvalResult& result) {
  OrderedJson json = json_of(stored(result).metrics);
  for (const MetricValue& metric : result.metrics) {
    if (!metric.interval) continue;
    json["intervals"][metric.name] = {metric.interval->low,
                                      metric.interval->high};
  }
  return json;
}

void add_corruptions(const EvalReport& report, OrderedJson& json) {
  for (const CorruptedResult& one : report.corrupted) {
    json["corruptions"][one.corruption] = values_json(one.result);
  }
  for (size_t m = 0; m < report.result.metrics.size(); ++m) {
    const MetricValue& metric = report.result.metrics[m];
    if (!metric.list.empty()) continue;
    json["mean_of_corrupted"][metric.name] =
        mean_of_corrupted(report.corrupted, m);
  }
}

std::map<std::string, double> by_name(
    const std::vector<StoredMetric>& metrics) {
  std::map<std::string, double> numbers;
  for (const StoredMetric& metric : metrics) {
    if (!metric.is_list()) numbers[metric.name] = metric.value;
  }
  return numbers;
}

std::map<std::string, Interval> intervals_of(const OrderedJson& object) {
  std::map<std::string, Interval> intervals;
  if (object.is_null()) return intervals;
  for (const auto& [name, ends] : object.items()) {
    const Interval interval{number_of(ends.at(0)), number_of(ends.at(1))};
    if (std::isnan(interval.low) || std::isnan(interval.high)) continue;
    intervals[name] = interval;
  }
  return intervals;
}

EvalMetrics eval_metrics_of(const OrderedJson& json) {
  const OrderedJson& protocol = json.at("protocol");
  if (!protocol.is_object()) {
    throw OrderedJson::type_error::create(0, "no object", &protocol);
  }
  EvalMetrics file;
  file.protocol = text_of(field(protocol, "name"));
  file.split = text_of(field(protocol, "split"));
  file.found.rules = text_of(field(protocol, "rules"));
  file.found.metrics = metrics_of(json);
  file.intervals = intervals_of(field(json, "intervals"));
  file.intervals_rule = text_of(field(protocol, "intervals"));
  const OrderedJson& published = field(json, "published");
  file.published = by_name(metrics_of(published));
  file.published_source = text_of(field(published, "source"));
  const OrderedJson& corruptions = field(json, "corruptions");
  if (corruptions.empty()) return file;
  file.corruptions.push_back({"none", by_name(file.found.metrics)});
  for (const auto& [name, metrics] : corruptions.items()) {
    file.corruptions.push_back({name, by_name(metrics_of(metrics))});
  }
  return file;
}

}  // namespace

OrderedJson json_of(const EvalReport& report) {
  const EvalResult& result = report.result;
  OrderedJson json = values_json(result);
  const OrderedJson intervals = field(json, "intervals");
  json.erase("intervals");
  json["protocol"] = protocol_json(report);
  if (!intervals.is_null()) {
    json["intervals"] = intervals;
    json["protocol"]["intervals"] =
        "95%, " + std::to_string(report.resamples) +
        " bootstrap resamples of the queries, seed " +
        std::to_string(report.seed) + "; of draws, Student's t";
  }
  if (!report.left_out.empty()) json["left_out"] = json_of(report.left_out);
  json["definitions"] = OrderedJson::object();
  for (const MetricValue& metric : result.metrics) {
    json["definitions"][MetricName::parse(metric.name).general()] =
        metric.definition;
  }
  if (report.by_class && result.parts.size() == 1) {
    json["by_class"] = class_columns(report, 0);
  } else if (report.by_class) {
    for (size_t part = 0; part < result.parts.size(); ++part) {
      json["by_class"][result.parts[part].name] = class_columns(report, part);
    }
  }
  if (!report.published.empty() || !report.published_source.empty()) {
    json["published"] = report.published;
    if (!report.published_source.empty()) {
      json["published"]["source"] = report.published_source;
    }
  }
  if (!report.corrupted.empty()) add_corruptions(report, json);
  return json;
}

std::string eval_metrics_json(const EvalReport& report) {
  return json_text(json_of(report)) + "\n";
}

std::string write_eval_metrics(const std::string& path,
                               const EvalReport& report) {
  std::string text = eval_metrics_json(report);
  write_file_atomically(path, text);
  return text;
}

EvalMetrics read_eval_metrics(const std::string& path) {
  try {
    return eval_metrics_of(parse_json(read_file(path, kMaxEvalMetricsBytes)));
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": not the metrics.json that kith eval writes");
  }
}

}  // namespace kith
