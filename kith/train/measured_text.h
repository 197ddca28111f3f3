#pragma once

#include <string>

#include "kith/run/choose_checkpoint.h"

namespace kith {

/// What a run's evaluations found of one of its checkpoints, from its
/// metrics.json, as a table in Markdown: a row a metric, a column for the split
/// that it was chosen on and one for the test split. Empty for a network that
/// is of no run, or was not evaluated as it is. A metrics.json that cannot be
/// read is a warning.
std::string measured_text(const ChosenCheckpoint& checkpoint);

}  // namespace kith
