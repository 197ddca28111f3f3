#pragma once

#include <string>
#include <vector>

#include "kith/eval/evaluate.h"
#include "kith/run/run_metrics.h"

namespace kith {

/// An evaluation for people to read, below a title: a line a metric with its
/// value, the change since the evaluation before, and the best value of the run
/// so far with its epoch. Shares are in percent, their changes in points.
///
/// `history` are the run's evaluations so far, the last of them
/// being `result`. The one before training is no best; metrics that only
/// describe embeddings, such as rho, have none. Metrics that are lists are left
/// out.
std::string eval_table(const std::string& title, const EvalResult& result,
                       const std::vector<RunPoint>& history);

/// "recall_any@1 98.10% (epoch 3)": the value of a metric in the last
/// evaluation, of the first part that has it; empty if there is none.
std::string last_metric_text(const std::vector<RunPoint>& history,
                             const std::string& metric);

}  // namespace kith
