#include "kith/run/run_metrics.h"

#include <algorithm>
#include <cmath>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/quote.h"
#include "kith/eval/metric.h"
#include "kith/run/detail/stored_json.h"

namespace kith {
namespace {

constexpr uint64_t kMaxRunMetricsBytes = uint64_t{1} << 28;

constexpr const char* kSelfExcluded = "excluded by index";

EvalPart part_of(const OrderedJson& json) {
  EvalPart part;
  part.name = text_of(field(json, "name"));
  part.queries = count_of(field(json, "queries"));
  part.gallery = count_of(field(json, "gallery"));
  part.without_positives = count_of(field(json, "queries_without_positives"));
  part.self_excluded = text_of(field(json, "self")) == kSelfExcluded;
  part.junk = count_of(field(json, "junk"));
  const OrderedJson& draws = field(json, "draws");
  if (!draws.is_null()) part.draws = count_of(draws);
  return part;
}

OrderedJson json_of_part(const EvalPart& part) {
  OrderedJson json = OrderedJson::object();
  if (!part.name.empty()) json["name"] = part.name;
  json["queries"] = part.queries;
  json["gallery"] = part.gallery;
  json["queries_without_positives"] = part.without_positives;
  json["self"] = part.self_excluded ? kSelfExcluded : "not in the gallery";
  if (part.junk > 0) json["junk"] = part.junk;
  if (part.draws > 1) json["draws"] = part.draws;
  return json;
}

/// Any of the parts may be missing, but not all.
RunMetrics metrics_of_run(const OrderedJson& json) {
  const bool has_any = json.contains("last") || json.contains("best") ||
                       json.contains("history") || json.contains("trained");
  if (!has_any) throw OrderedJson::other_error::create(0, "none", &json);
  RunMetrics metrics;
  metrics.protocol = text_of(field(json, "protocol"));
  metrics.split = text_of(field(json, "split"));
  const OrderedJson& last = field(json, "last");
  if (!last.is_null()) metrics.last = eval_of(last);
  metrics.best = best_of(field(json, "best"));
  if (metrics.best) {
    metrics.chosen_on = text_of(field(json.at("best"), "chosen_on"));
  }
  metrics.ended_by = text_of(field(json, "ended_by"));
  metrics.test = test_of(field(json, "test"));
  for (const OrderedJson& fold : field(json, "folds")) {
    metrics.folds.emplace_back().metrics = metrics_of(fold);
  }
  for (const OrderedJson& mark : field(json, "trained")) {
    metrics.trained.push_back(mark.get<std::string>());
  }
  for (const OrderedJson& point : field(json, "history")) {
    metrics.history.push_back(point_of(point));
  }
  return metrics;
}

}  // namespace

const StoredMetric* StoredEval::find(const std::string& name) const {
  for (const StoredMetric& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

double StoredEval::at(const std::string& name) const {
  const StoredMetric* metric = find(name);
  return metric == nullptr ? StoredMetric().value : metric->value;
}

std::optional<BestPoint> best_point(const std::vector<RunPoint>& history,
                                    const std::string& metric,
                                    bool with_untrained) {
  std::optional<BestPoint> best;
  for (const RunPoint& point : history) {
    if (point.step == 0 && !with_untrained) continue;
    const double value = point.found.at(metric);
    const double known = best ? best->value : StoredMetric().value;
    if (!std::isfinite(value) || !is_better(value, known, better_of(metric))) {
      continue;
    }
    best = BestPoint{metric, value, point.epoch, point.step};
  }
  return best;
}

StoredEval stored(const EvalResult& result) {
  StoredEval eval;
  eval.parts = result.parts;
  eval.rules = result.protocol_line();
  for (const MetricValue& metric : result.metrics) {
    eval.metrics.push_back({metric.name, metric.value, metric.list});
  }
  return eval;
}

std::vector<StoredMetric> metrics_of(const OrderedJson& object) {
  std::vector<StoredMetric> metrics;
  if (object.is_null()) return metrics;
  if (!object.is_object()) {
    throw OrderedJson::type_error::create(0, "no object", &object);
  }
  for (const auto& [name, value] : object.items()) {
    if (value.is_number() || value.is_null()) {
      metrics.push_back({name, number_of(value)});
    } else if (value.is_array()) {
      StoredMetric metric{name};
      for (const OrderedJson& one : value) {
        if (!one.is_number() && !one.is_null()) break;
        metric.list.push_back(number_of(one));
      }
      if (metric.list.size() == value.size()) {
        metrics.push_back(std::move(metric));
      }
    }
  }
  return metrics;
}

OrderedJson json_of(const std::vector<StoredMetric>& metrics) {
  OrderedJson json = OrderedJson::object();
  for (const StoredMetric& metric : metrics) {
    OrderedJson& value = json[metric.name];
    if (metric.is_list()) {
      value = metric.list;
    } else {
      value = metric.value;
    }
  }
  return json;
}

StoredEval eval_of(const OrderedJson& object) {
  StoredEval eval;
  if (object.contains("parts")) {
    for (const OrderedJson& part : object.at("parts")) {
      eval.parts.push_back(part_of(part));
    }
  } else if (object.contains("queries")) {
    eval.parts.push_back(part_of(object));
  }
  eval.rules = text_of(field(object, "rules"));
  eval.metrics = metrics_of(object.at("metrics"));
  return eval;
}

OrderedJson json_of(const StoredEval& eval) {
  OrderedJson json = OrderedJson::object();
  if (eval.parts.size() == 1) {
    json = json_of_part(eval.parts[0]);
  } else {
    json["parts"] = OrderedJson::array();
    for (const EvalPart& part : eval.parts) {
      json["parts"].push_back(json_of_part(part));
    }
  }
  json["rules"] = eval.rules;
  json["metrics"] = json_of(eval.metrics);
  return json;
}

RunPoint point_of(const OrderedJson& object) {
  return {count_of(object.at("epoch")), count_of(object.at("step")),
          eval_of(object)};
}

OrderedJson json_of(const RunPoint& point) {
  OrderedJson json = {{"epoch", point.epoch}, {"step", point.step}};
  json.update(json_of(point.found));
  return json;
}

std::optional<BestPoint> best_of(const OrderedJson& object) {
  if (object.is_null()) return {};
  BestPoint best;
  best.metric = text_of(field(object, "metric"));
  best.value = number_of(object.at("value"));
  best.epoch = count_of(field(object, "epoch"));
  best.step = count_of(field(object, "step"));
  return best;
}

OrderedJson json_of(const std::optional<BestPoint>& best) {
  if (!best) return nullptr;
  return {{"metric", best->metric},
          {"value", best->value},
          {"epoch", best->epoch},
          {"step", best->step}};
}

std::optional<TestPoint> test_of(const OrderedJson& object) {
  if (object.is_null()) return {};
  return TestPoint{count_of(object.at("epoch")), count_of(object.at("step")),
                   count_of(field(object, "after_step")), eval_of(object)};
}

OrderedJson json_of(const TestPoint& test) {
  OrderedJson json = {{"checkpoint", "best"},
                      {"epoch", test.epoch},
                      {"step", test.step},
                      {"after_step", test.after},
                      {"split", "test"}};
  json.update(json_of(test.found));
  return json;
}

OrderedJson json_of(const std::vector<BrokenImage>& left_out) {
  constexpr size_t kNames = 5;
  OrderedJson json = {{"images", left_out.size()},
                      {"first", OrderedJson::array()}};
  for (size_t i = 0; i < std::min(left_out.size(), kNames); ++i) {
    json["first"].push_back(as_utf8(left_out[i].path));
  }
  return json;
}

RunMetrics read_run_metrics(const std::string& path) {
  try {
    return metrics_of_run(parse_json(read_file(path, kMaxRunMetricsBytes)));
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": not the metrics.json that kith train writes");
  }
}

void write_run_metrics(const std::string& path, const RunMetrics& metrics) {
  OrderedJson json = {{"protocol", metrics.protocol},
                      {"split", metrics.split},
                      {"last", nullptr}};
  if (!metrics.left_out.empty()) json["left_out"] = json_of(metrics.left_out);
  if (!metrics.history.empty()) {
    json["last"] = json_of(metrics.history.back());
  } else if (metrics.last) {
    json["last"] = json_of(*metrics.last);
  }
  if (metrics.folds.empty()) {
    json["best"] = json_of(metrics.best);
    if (metrics.best) {
      json["best"]["chosen_on"] =
          metrics.chosen_on.empty() ? metrics.split : metrics.chosen_on;
    }
    if (!metrics.ended_by.empty()) json["ended_by"] = metrics.ended_by;
    if (metrics.test) json["test"] = json_of(*metrics.test);
  } else {
    json["folds"] = OrderedJson::array();
    for (const StoredEval& fold : metrics.folds) {
      json["folds"].push_back(json_of(fold.metrics));
    }
    json["trained"] = metrics.trained;
  }
  json["history"] = OrderedJson::array();
  for (const RunPoint& point : metrics.history) {
    json["history"].push_back(json_of(point));
  }
  write_file_atomically(path, json.dump(2) + "\n");
}

}  // namespace kith
