#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kith/study/results.h"
#include "kith/study/summary.h"

namespace kith {

/// Whether a folder is a study's, as a sweep leaves it, and not a run's.
bool is_study_folder(const std::string& folder);

struct StudyPageOptions {
  std::string study = {};        ///< The folder.
  std::string title = {};        ///< Empty: the study's.
  std::string made_by = "kith";  ///< For the foot of the page.
  /// Where the page will lie, for its links to runs; empty: in the folder.
  std::string out = {};
};

struct StudyPage {
  std::string html;
  std::string lead;      ///< What the study comes to, in a sentence or two.
  int64_t runs = 0;      ///< Of the whole study.
  int64_t finished = 0;  ///< Those of them that have results.
};

/// One self-contained page of a whole study, from its folder alone: the table
/// with means, intervals and what was before training; values by combination;
/// learning curves with the seeds of a combination as a band; the study's
/// figures; the best runs with links; what is not finished, and why. It has no
/// pictures, and of many combinations it draws the best, so that hundreds of
/// runs stay below a megabyte.
///
/// DataError if the folder is not a study's, or is of an earlier version that
/// did not keep study.yaml; ConfigError if that is not valid.
StudyPage make_study_page(const StudyPageOptions& options);

/// Writes the page and returns its size in bytes.
size_t write_study_page(const StudyPage& page, const std::string& path);

/// The sections with charts, as HTML; empty if there is nothing to draw.
std::string study_values_html(const StudyResults& results,
                              const StudySummary& summary);
std::string study_curves_html(const StudyResults& results,
                              const StudySummary& summary);

/// The rows of a summary that have values, the best of the first metric first.
std::vector<const StudyRow*> best_rows(const Study& study,
                                       const StudySummary& summary);

/// "t1 = 1, SiMix = with"; the study's name where nothing is varied.
std::string row_name(const Study& study, const Labels& labels);

}  // namespace kith
