#pragma once

#include <string>

#include "kith/run/eval_metrics.h"

namespace kith {

/// A metric as papers print it: "recall_any@1" is "R@1", "map_at_r" "MAP@R",
/// "medium/map_trapezoid" "medium mAP". Others keep their names.
std::string paper_name(const std::string& metric);

/// A table to paste into a paper; `format` is "markdown", "latex" or "csv". A
/// row for the model, called `name`, one for published numbers, a column for
/// each metric that is no list; shares in percent, with half the 95% interval.
/// Corruptions have a table of their own below, with a row for each, and so
/// have forms of smaller vectors, with the bytes of an item. In CSV all is one
/// table, with kith's names and a column for every number.
std::string metrics_table(const std::string& format, const std::string& name,
                          const EvalReport& report);

}  // namespace kith
