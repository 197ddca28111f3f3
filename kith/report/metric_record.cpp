#include "kith/report/metric_record.h"

#include <set>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"

namespace kith {

RecordedMetric known_metric(const std::string& name, double value) {
  RecordedMetric metric;
  metric.name = name;
  metric.value = value;
  metric.is_share = false;
  try {
    const auto found = parse_metrics({MetricName::parse(name).metric()});
    if (found.size() != 1) return metric;
    metric.is_share = found[0].metric->is_share();
    metric.definition = found[0].summary;
  } catch (const ConfigError&) {
    // Stays plain.
  }
  return metric;
}

const RecordedMetric* find_metric(const RunRecord& run,
                                  const std::string& name) {
  for (const RecordedMetric& metric : run.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

const RecordedMetric* main_metric(const RunRecord& run) {
  const ConfigNode* eval = run.config.find("eval");
  const ConfigNode* best = eval == nullptr ? nullptr : eval->find("best");
  if (best == nullptr) return nullptr;
  if (const RecordedMetric* metric = find_metric(run, best->scalar)) {
    return metric;
  }
  for (const RecordedMetric& metric : run.metrics) {
    if (MetricName::parse(metric.name).is(best->scalar)) return &metric;
  }
  return nullptr;
}

std::string test_text(const RunRecord& run) {
  if (!run.test) return "";
  std::vector<std::string> texts;
  for (const StoredMetric& metric : run.test->found.metrics) {
    if (metric.is_list()) continue;
    const RecordedMetric known = known_metric(metric.name, metric.value);
    texts.push_back(metric.name + " " +
                    metric_text(metric.value, known.is_share));
  }
  return join(texts) + " (best checkpoint, epoch " +
         std::to_string(run.test->epoch) + ")";
}

std::vector<RecordedMetric> metrics_of(const std::vector<RunRecord>& runs) {
  std::vector<RecordedMetric> metrics;
  std::set<std::string> seen;
  for (const RunRecord& run : runs) {
    for (const RecordedMetric& metric : run.metrics) {
      if (seen.insert(metric.name).second) metrics.push_back(metric);
    }
  }
  return metrics;
}

std::vector<RecordedMetric> scored_metrics(
    const std::vector<RunRecord>& runs,
    const std::function<const std::map<std::string, double>*(const RunRecord&)>&
        scored) {
  std::vector<RecordedMetric> metrics;
  std::set<std::string> seen;
  for (const RunRecord& run : runs) {
    const std::map<std::string, double>* found = scored(run);
    if (found == nullptr) continue;
    const auto add = [&](const RecordedMetric& metric) {
      if (!found->contains(metric.name)) return;
      if (seen.insert(metric.name).second) metrics.push_back(metric);
    };
    if (const RecordedMetric* main = main_metric(run)) add(*main);
    for (const RecordedMetric& metric : run.metrics) add(metric);
    for (const auto& [name, value] : *found) add(known_metric(name, value));
  }
  return metrics;
}

}  // namespace kith
