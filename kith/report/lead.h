#pragma once

#include <string>
#include <vector>

#include "kith/report/run_record.h"

namespace kith {

/// The names of up to three runs, "8 runs compared" of more.
std::string report_title(const std::vector<RunRecord>& runs);

/// What the runs come to, in a sentence: of one run the metric that its
/// `eval.best` names, in words where it is a recall; of several the lowest and
/// the highest value of it. Says too if runs are not finished, were not
/// evaluated, or cannot be compared.
std::string report_lead(const std::vector<RunRecord>& runs);

}  // namespace kith
