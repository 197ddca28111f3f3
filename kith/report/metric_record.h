#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kith/report/run_record.h"

namespace kith {

/// A metric with what the registry knows of "medium/map@100". A name that it
/// does not know is one of another program or version: a plain number.
RecordedMetric known_metric(const std::string& name, double value);

/// A metric of a run by its full name; null if there is none.
const RecordedMetric* find_metric(const RunRecord& run,
                                  const std::string& name);

/// The metric that `eval.best` names, in the first part that has it; null if
/// the run has none of that name.
const RecordedMetric* main_metric(const RunRecord& run);

/// "recall_any@1 81.20%, ... (best checkpoint, epoch 7)": the best network on
/// the test split, which it was not chosen on; empty without such.
std::string test_text(const RunRecord& run);

/// The metrics of all runs, each once, by the order of the first run with it.
std::vector<RecordedMetric> metrics_of(const std::vector<RunRecord>& runs);

/// Those that pictures or vectors of another form were scored by: of some run
/// the main one first, and those that no evaluation in training had last.
/// `scored` gives such metrics of a run; null if it has none.
std::vector<RecordedMetric> scored_metrics(
    const std::vector<RunRecord>& runs,
    const std::function<const std::map<std::string, double>*(const RunRecord&)>&
        scored);

}  // namespace kith
