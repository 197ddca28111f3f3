#pragma once

#include <string>

#include "kith/study/results.h"

namespace kith {

/// What a study found, a row a combination: its labels, the number of runs, and
/// for each of study.metrics the mean over seeds, half the 95% interval (of two
/// runs: both values), and the published number where some row has one. The
/// best mean of a column is marked if there are several rows, and enough runs
/// of each for an interval.
std::string study_markdown(const StudyResults& results);
std::string study_latex(const StudyResults& results);

/// The same with a column for each number, unrounded to four digits after the
/// point, and empty fields for what is not known.
std::string study_csv(const StudyResults& results);

/// {"study", "title", "combinations": [{"labels", "runs", "metrics": {name:
/// {"mean", "half_width", "low", "high", "count", "published"}}}], "runs":
/// [{"labels", "seed", "folder", "metrics"}], "claims": [{"says", "labels",
/// "metric", "higher", "lower", "difference", "half_width", "seeds", "verdict",
/// "reason"}]}. Shares are not in percent, but published ones are.
std::string study_json(const StudyResults& results);

}  // namespace kith
