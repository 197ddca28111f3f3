// metrics.json of a run and of kith eval.

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/report/json_fields.h"
#include "kith/report/run_files.h"

namespace kith {
namespace {

constexpr uint64_t kMaxMetricsBytes = uint64_t{64} << 20;

/// Reads a file with `read`, whose JSON exceptions become DataErrors.
template <class Read>
auto read_json(const std::string& path, const std::string& what,
               const Read& read) {
  try {
    return read(parse_json(read_file(path, kMaxMetricsBytes)));
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": not the metrics.json that " + what + " writes");
  }
}

std::map<std::string, double> by_name(const MetricNumbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

LoggedEval history_entry(const OrderedJson& json) {
  LoggedEval eval;
  eval.epoch = count_of(json.at("epoch"));
  eval.step = count_of(json.at("step"));
  eval.metrics = by_name(eval_numbers_of(json).metrics);
  return eval;
}

RunMetricsFile run_metrics_of(const OrderedJson& json) {
  RunMetricsFile file;
  file.protocol = text_of(field(json, "protocol"));
  file.split = text_of(field(json, "split"));
  const OrderedJson& last = json.at("last");  // null: never evaluated
  if (!last.is_null()) file.last = eval_numbers_of(last);
  for (const OrderedJson& entry : json.at("history")) {
    file.evals.push_back(history_entry(entry));
  }
  return file;
}

EvalMetricsFile eval_metrics_of(const OrderedJson& json) {
  const OrderedJson& protocol = json.at("protocol");
  EvalMetricsFile file;
  file.protocol = text_of(field(protocol, "name"));
  file.split = text_of(field(protocol, "split"));
  file.numbers = {numbers_of(json), text_of(field(protocol, "rules"))};
  const OrderedJson& published = field(json, "published");
  file.published = by_name(numbers_of(published));
  file.published_source = text_of(field(published, "source"));
  const OrderedJson& corruptions = field(json, "corruptions");
  if (corruptions.empty()) return file;
  file.corruptions.push_back({"none", by_name(file.numbers.metrics)});
  for (const auto& [name, metrics] : corruptions.items()) {
    file.corruptions.push_back({name, by_name(numbers_of(metrics))});
  }
  return file;
}

}  // namespace

RunMetricsFile read_run_metrics(const std::string& path) {
  return read_json(path, "kith train", run_metrics_of);
}

EvalMetricsFile read_eval_metrics(const std::string& path) {
  return read_json(path, "kith eval", eval_metrics_of);
}

}  // namespace kith
