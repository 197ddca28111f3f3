#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kith/report/run_record.h"

namespace kith {

/// Metrics by name, in the order of their file. NaN: not defined.
using MetricNumbers = std::vector<std::pair<std::string, double>>;

/// What an evaluation found, and the rules it stands on.
struct EvalNumbers {
  MetricNumbers metrics;
  std::string rules;
};

/// log.jsonl of a run.
struct RunLogFile {
  std::vector<std::string> phases;
  std::vector<LoggedStep> steps;
  std::vector<LoggedEval> evals;
  EvalNumbers last;  ///< Of the last of `evals`.
};

/// metrics.json of a run that is finished.
struct RunMetricsFile {
  std::string protocol;
  std::string split;
  std::vector<LoggedEval> evals;
  EvalNumbers last;
};

/// metrics.json of kith eval.
struct EvalMetricsFile {
  std::string protocol;
  std::string split;
  EvalNumbers numbers;
  std::map<std::string, double> published;  ///< Shares.
  std::string published_source;
  std::vector<CorruptionRow> corruptions;
};

/// The files of a run's folder. DataError, naming file and line, for what is
/// not such a file. A last line of the log that was cut off is left out.
RunLogFile read_run_log(const std::string& path);
RunMetricsFile read_run_metrics(const std::string& path);
EvalMetricsFile read_eval_metrics(const std::string& path);

}  // namespace kith
