#pragma once

#include <string>
#include <vector>

#include "cli/metrics_report.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// A metric as papers print it: "recall_any@1" is "R@1", "map_at_r" "MAP@R",
/// "medium/map_trapezoid" "medium mAP". Others keep their names.
std::string paper_name(const std::string& metric);

/// What is shown of one model.
struct ScoredModel {
  std::string name;  ///< Of its row.
  EvalResult result;
  std::vector<MetricColumn> published = {};  ///< A row each, below.
  std::vector<CorruptedResult> corrupted = {};
};

/// A table to paste into a paper; `format` is "markdown", "latex" or "csv". A
/// row for the model, one for published numbers, a column for each metric that
/// is no list; shares in percent, with half the 95% interval. Corruptions have
/// a table of their own below, with a row for each. In CSV all is one table,
/// with kith's names and a column for every number.
std::string metrics_table(const std::string& format, const ScoredModel& model);

}  // namespace kith
