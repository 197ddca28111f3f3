#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/run/choose_checkpoint.h"
#include "kith/run/run_metrics.h"

namespace kith {

/// An evaluation, and of which split.
using MeasuredSplit = std::pair<std::string, StoredEval>;

/// What a run's evaluations found of one of its checkpoints, from its
/// metrics.json: on the split that it was chosen on and on the test split.
/// Empty for a network that is of no run, or was not evaluated as it is. A
/// metrics.json that cannot be read is a warning.
std::vector<MeasuredSplit> measured_splits(const ChosenCheckpoint& checkpoint);

/// The same as a table in Markdown: a row a metric, a column a split. Empty if
/// there is nothing.
std::string measured_text(const std::vector<MeasuredSplit>& splits);

}  // namespace kith
