#pragma once

#include <string>

#include "kith/study/results.h"

namespace kith {

/// What a study found, a row a combination: its labels, the number of runs, and
/// for each of study.metrics the mean over seeds, half the 95% interval, and
/// the published number where some row has one. The best mean of a column of
/// shares is marked if there are several rows.
std::string study_markdown(const StudyResults& results);
std::string study_latex(const StudyResults& results);

/// The same with a column for each number, unrounded to four digits after the
/// point, and empty fields for what is not known.
std::string study_csv(const StudyResults& results);

/// {"study", "title", "combinations": [{"labels", "runs", "metrics": {name:
/// {"mean", "half_width", "count", "published"}}}], "runs": [{"labels", "seed",
/// "folder", "metrics"}]}. Shares are not in percent, but published ones are.
std::string study_json(const StudyResults& results);

}  // namespace kith
