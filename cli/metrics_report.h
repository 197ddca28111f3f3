#pragma once

#include <map>
#include <string>
#include <vector>

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

/// A table: a row for each corruption, the clean images above, the mean of the
/// corruptions below; a column for each metric.
void print_corruptions(const EvalResult& clean,
                       const std::vector<CorruptedResult>& corrupted);

}  // namespace kith
