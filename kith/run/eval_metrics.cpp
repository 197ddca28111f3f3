#include "kith/run/eval_metrics.h"

#include <cmath>
#include <filesystem>
#include <set>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/json_text.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/core/sha256.h"
#include "kith/eval/metric_name.h"
#include "kith/run/detail/decision_json.h"
#include "kith/run/detail/eval_metrics_json.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxEvalMetricsBytes = uint64_t{64} << 20;

constexpr const char* kOwnData = "of the run";

OrderedJson checkpoint_json(const ChosenCheckpoint& checkpoint) {
  OrderedJson json = OrderedJson::object();
  if (!checkpoint.name.empty()) json["name"] = checkpoint.name;
  if (checkpoint.epoch >= 0) {
    json["epoch"] = checkpoint.epoch;
    json["step"] = checkpoint.step;
    if (checkpoint.within_epoch) json["within_epoch"] = true;
  }
  // Of a run from its folder, which may be called otherwise next time.
  const fs::path file(checkpoint.file);
  json["file"] =
      as_utf8(checkpoint.name.empty()
                  ? checkpoint.file
                  : (file.parent_path().filename() / file.filename()).string());
  return json;
}

ChosenCheckpoint checkpoint_of(const OrderedJson& json) {
  ChosenCheckpoint checkpoint;
  if (json.is_null()) return checkpoint;
  checkpoint.file = text_of(field(json, "file"));
  checkpoint.name = text_of(field(json, "name"));
  if (!json.contains("epoch")) return checkpoint;
  checkpoint.epoch = count_of(json.at("epoch"));
  checkpoint.step = count_of(field(json, "step"));
  checkpoint.within_epoch = field(json, "within_epoch") == true;
  return checkpoint;
}

/// What names of files may have, at most 40 of it; the rest becomes '-'.
std::string slug_of(const std::string& text) {
  constexpr size_t kMost = 40;
  std::string slug;
  for (const char c : text.substr(0, kMost)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (kept) {
      slug += c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug;
}

/// A text of any length, in short: readable, and different for every other.
std::string short_name(const std::string& shown, const std::string& whole) {
  Sha256 hash;
  hash.add(whole.data(), whole.size());
  return slug_of(shown) + "-" + hash.hex().substr(0, 6);
}

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

OrderedJson reranked_json(const EvalResult& reranked) {
  OrderedJson json = {{"by", reranked.rerank}};
  json.update(values_json(reranked));
  return json;
}

/// {"form": {"bytes": 64, "metrics": {...}}}
void add_compressed(const EvalReport& report, OrderedJson& json) {
  for (const CompressedResult& one : report.compressed) {
    json["compressed"][one.form] = {{"bytes", one.bytes},
                                    {"metrics", values_json(one.result)}};
  }
  if (report.learnt_from == 0) return;
  json["protocol"]["compressed"] =
      "learnt from " + std::to_string(report.learnt_from) +
      " embeddings of other images, seed " + std::to_string(report.seed);
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
  file.checkpoint = checkpoint_of(field(json, "checkpoint"));
  file.data = text_of(field(json, "data"));
  if (file.data == kOwnData) file.data.clear();
  file.descriptor = text_of(field(json, "descriptor"));
  file.protocol = text_of(field(protocol, "name"));
  file.split = text_of(field(protocol, "split"));
  file.found.rules = text_of(field(protocol, "rules"));
  file.found.metrics = metrics_of(json);
  file.intervals = intervals_of(field(json, "intervals"));
  file.intervals_rule = text_of(field(protocol, "intervals"));
  const OrderedJson& published = field(json, "published");
  file.published = by_name(metrics_of(published));
  file.published_source = text_of(field(published, "source"));
  const OrderedJson& reranked = field(json, "reranked");
  file.reranked_by = text_of(field(reranked, "by"));
  file.reranked = by_name(metrics_of(reranked));
  for (const auto& [form, one] : field(json, "compressed").items()) {
    file.compressed.push_back({form, count_of(one.at("bytes")),
                               by_name(metrics_of(one.at("metrics")))});
  }
  file.decision = decision_of(field(json, "threshold"));
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
  if (!report.checkpoint.file.empty()) {
    json["checkpoint"] = checkpoint_json(report.checkpoint);
    json["data"] = report.data.empty() ? kOwnData : as_utf8(report.data);
    if (!report.descriptor.empty()) json["descriptor"] = report.descriptor;
  }
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
  if (report.reranked) json["reranked"] = reranked_json(*report.reranked);
  if (!report.compressed.empty()) add_compressed(report, json);
  if (report.decision) json["threshold"] = json_of(*report.decision);
  return json;
}

std::string eval_metrics_json(const EvalReport& report) {
  return json_text(json_of(report)) + "\n";
}

std::string evaluated_text(const EvalReport& report) {
  std::vector<std::string> facts;
  if (!report.checkpoint.file.empty()) {
    facts.push_back(report.checkpoint.text());
  }
  if (!report.data.empty()) facts.push_back(report.data);
  if (!report.split.empty()) facts.push_back(report.split + " split");
  if (!report.protocol.empty()) facts.push_back("protocol " + report.protocol);
  if (!report.descriptor.empty()) facts.push_back(report.descriptor);
  return join(facts);
}

std::string eval_folder_name(const EvalReport& report) {
  std::string name = report.checkpoint.slug();
  if (!name.empty()) name += "-";
  name += report.split + "-" + slug_of(report.protocol);
  if (!report.data.empty()) {
    const fs::path path = full_path(report.data).lexically_normal();
    name += "-" + short_name(path.parent_path().filename().string() + "-" +
                                 path.stem().string(),
                             path.string());
  }
  if (!report.descriptor.empty()) {
    name += "-" + short_name(report.descriptor, report.descriptor);
  }
  return name;
}

std::string write_eval_metrics(const std::string& path,
                               const EvalReport& report) {
  std::string text = eval_metrics_json(report);
  write_file_atomically(path, text);
  return text;
}

EvalMetrics read_eval_metrics(const std::string& path) {
  try {
    EvalMetrics metrics =
        eval_metrics_of(parse_json(read_file(path, kMaxEvalMetricsBytes)));
    metrics.file = path;
    return metrics;
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": not the metrics.json that kith eval writes");
  }
}

std::vector<EvalMetrics> read_run_evals(const RunFolder& run) {
  std::vector<EvalMetrics> evals;
  for (const std::string& file : run.eval_files()) {
    evals.push_back(read_eval_metrics(file));
  }
  return evals;
}

}  // namespace kith
