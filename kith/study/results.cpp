#include "kith/study/results.h"

#include <algorithm>
#include <cmath>

#include "kith/core/error.h"
#include "kith/data/image_list.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/eval/student_t.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"

namespace kith {
namespace {

/// Of metrics that are numbers and defined. One in a part is also there
/// without it, if it is the first of that name.
std::map<std::string, double> numbers_of(const StoredEval& eval) {
  std::map<std::string, double> numbers;
  const auto is_number = [](const StoredMetric& metric) {
    return !metric.is_list() && !std::isnan(metric.value);
  };
  for (const StoredMetric& metric : eval.metrics) {
    if (is_number(metric)) numbers[metric.name] = metric.value;
  }
  for (const StoredMetric& metric : eval.metrics) {
    if (!is_number(metric)) continue;
    numbers.emplace(MetricName::parse(metric.name).metric(), metric.value);
  }
  return numbers;
}

/// The mean of metrics; nothing where one is missing.
void add_average(const StudyAverage& average,
                 std::map<std::string, double>& metrics) {
  double sum = 0;
  for (const std::string& name : average.metrics) {
    const auto found = metrics.find(name);
    if (found == metrics.end()) return;
    sum += found->second;
  }
  metrics[average.name] = sum / static_cast<double>(average.metrics.size());
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
  spread.half_width =
      spread.count < kLeastRunsOfInterval ? NAN : half_width_of_mean(values);
  spread.mean = spread.low = spread.high = NAN;
  if (values.empty()) return spread;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  spread.low = *low;
  spread.high = *high;
  spread.mean = 0;
  for (double value : values) {
    spread.mean += value / static_cast<double>(values.size());
  }
  return spread;
}

RunMetrics read_metrics_to_train_again(const RunFolder& folder) {
  try {
    return read_run_metrics(folder.metrics());
  } catch (const DataError& error) {
    throw DataError(error.what() +
                    std::string("; delete the run's folder to train it again"));
  }
}

RunResult read_run_result(const StudyRun& run, const std::string& folder) {
  RunResult result;
  result.labels = run.labels;
  result.seed = run.seed;
  result.folder = folder;
  const RunMetrics metrics = read_metrics_to_train_again(RunFolder(folder));
  result.split = metrics.split;
  if (metrics.last) result.metrics = numbers_of(*metrics.last);
  if (metrics.test) {
    result.split = split_name(Split::kTest);
    result.chosen_on_validation = true;
    result.metrics = numbers_of(metrics.test->found);
  }
  for (const RunPoint& point : metrics.history) {
    result.curve.push_back({point.epoch, point.step, numbers_of(point.found)});
  }
  return result;
}

StudyResults read_results(const Study& study, const std::string& out) {
  StudyResults results;
  results.study = &study;
  for (const StudyRun& run : study_runs(study)) {
    const std::string folder = out + "/" + run.folder;
    if (!RunFolder(folder).is_finished()) continue;
    RunResult& result = results.runs.emplace_back(read_run_result(run, folder));
    for (const StudyEvaluation& evaluation : study.evaluations) {
      if (is_evaluated(evaluation, folder)) add_evaluation(evaluation, result);
    }
    for (const StudyAverage& average : study.averages) {
      add_average(average, result.metrics);
    }
  }
  return results;
}

bool metric_is_share(const std::string& name) {
  const auto metrics = parse_metrics({MetricName::parse(name).metric()});
  return metrics.at(0).metric->is_share();
}

}  // namespace kith
