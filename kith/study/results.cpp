#include "kith/study/results.h"

#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/eval/student_t.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxMetricsBytes = uint64_t{1} << 28;

std::map<std::string, double> numbers_of(const Json& metrics) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) numbers[name] = value.get<double>();
  }
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) {
      numbers.emplace(MetricName::parse(name).metric(), value.get<double>());
    }
  }
  return numbers;
}

}  // namespace

std::vector<double> StudyResults::values(const Labels& labels,
                                         const std::string& metric) const {
  std::vector<double> values;
  for (const RunResult& run : runs) {
    const auto found = run.metrics.find(metric);
    if (fits(labels, run.labels) && found != run.metrics.end() &&
        !std::isnan(found->second)) {
      values.push_back(found->second);
    }
  }
  return values;
}

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  spread.count = static_cast<int64_t>(values.size());
  spread.half_width = half_width_of_mean(values);
  spread.mean = values.empty() ? NAN : 0;
  for (double value : values) {
    spread.mean += value / static_cast<double>(values.size());
  }
  return spread;
}

RunResult read_run_result(const StudyRun& run, const std::string& folder) {
  const std::string path = folder + "/metrics.json";
  RunResult result;
  result.labels = run.labels;
  result.seed = run.seed;
  result.folder = folder;
  try {
    const Json json = parse_json(read_file(path, kMaxMetricsBytes));
    const Json& last = json.at("last");  // null: trained without evaluations
    if (!last.is_null()) result.metrics = numbers_of(last.at("metrics"));
    for (const Json& point : json.at("history")) {
      result.curve.push_back({point.at("epoch").get<int64_t>(),
                              point.at("step").get<int64_t>(),
                              numbers_of(point.at("metrics"))});
    }
  } catch (const Json::exception&) {
    throw DataError(path +
                    ": not the metrics of a run; delete the run's folder to "
                    "train it again");
  }
  return result;
}

StudyResults read_results(const Study& study, const std::string& out) {
  StudyResults results;
  results.study = &study;
  for (const StudyRun& run : study_runs(study)) {
    const std::string folder = out + "/" + run.folder;
    if (!std::filesystem::exists(folder + "/metrics.json")) continue;
    results.runs.push_back(read_run_result(run, folder));
  }
  return results;
}

bool metric_is_share(const std::string& name) {
  const auto metrics = parse_metrics({MetricName::parse(name).metric()});
  return metrics.at(0).metric->is_share();
}

}  // namespace kith
