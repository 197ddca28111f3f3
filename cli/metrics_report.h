#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/config.h"
#include "kith/eval/corruption_suite.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// Values of metrics that are shown beside those of a model.
struct MetricColumn {
  std::string title;
  std::map<std::string, double> values;
  std::string source = {};  ///< Where they are from, if they are cited.
};

/// The numbers of a configuration's `published` section; none without one.
std::vector<MetricColumn> published_column(const ConfigNode& config);

/// The metrics as a table, with the rules they stand on.
void print_metrics(const EvalResult& result,
                   const std::vector<MetricColumn>& beside = {});

/// "recall_any@k: share of queries ...": each metric of the table once.
void print_definitions(const EvalResult& result);

/// Logs how long scoring took and the most memory the process held: on standard
/// error, for the results themselves are the same every time.
void log_scoring(const EvalResult& result, double seconds);

/// How a result came about, for its JSON.
struct MetricsContext {
  std::string protocol;   ///< Its name; empty: nothing is said.
  std::string split;      ///< The same.
  int64_t resamples = 0;  ///< Of the bootstrap.
  int64_t seed = 0;       ///< Of the bootstrap and of clusterings.
  bool by_class = false;  ///< With the values of each class.
  const std::map<int64_t, std::string>* class_names = nullptr;
};

/// One object: an entry a metric, by its name; "protocol" with the numbers of
/// queries and gallery items and the rules; "intervals" and "definitions" of
/// the metrics; and, if wanted, "by_class".
nlohmann::ordered_json metrics_json(const EvalResult& result,
                                    const MetricsContext& context = {});

/// A table: a row for each corruption, the clean images above, the mean of the
/// corruptions below; a column for each metric.
void print_corruptions(const EvalResult& clean,
                       const std::vector<CorruptedResult>& corrupted);

/// {"jpeg": {"recall_any@1": 0.9, ..., "intervals": {...}}, ...}
nlohmann::ordered_json corruptions_json(
    const std::vector<CorruptedResult>& corrupted,
    const MetricsContext& context);

}  // namespace kith
