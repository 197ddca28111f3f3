#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/study/study.h"
#include "kith/study/text_table.h"

namespace kith {

/// A training on part of the training classes.
struct TrialTraining {
  std::string folder;  ///< Below the study's.
  ConfigNode config;   ///< What `kith train` is given.
};

/// A trial of a search: trained on part of the training classes, judged on the
/// held-out ones. With folds once for each, judged by the mean.
struct Trial {
  TrialValues values;
  std::string folder;  ///< Below the study's: "margin/search/trial-1".
  std::vector<TrialTraining> trainings;  ///< One in the folder, or a fold each.
};

/// The trials of a combination. `run` is any run of it.
std::vector<Trial> trials_of(const Study& study, const StudyRun& run);

/// How a trial ended.
struct TrialResult {
  bool ended = false;
  bool diverged = false;  ///< NaN: it ended without a value.
  double value = 0.0;     ///< The best on held-out classes; NaN if undefined.
  int64_t epoch = 0;  ///< Of the best value; 0 with folds: each has its own.
};

/// Reads it from the trial's folder. DataError if a file there is broken.
TrialResult read_trial(const Trial& trial, const std::string& out);

/// The outcome of a combination's search.
struct SearchResult {
  Labels labels;
  std::vector<Trial> trials;
  std::vector<TrialResult> results;
  bool ended = false;  ///< All trials.
  /// The trial chosen; -1: not all have ended, or none with a value.
  int64_t best = -1;
};

/// The best value wins, by what the metric says is better, and the first of
/// equal ones.
SearchResult search_result(const Study& study, const StudyRun& run,
                           const std::string& out);

/// The training that follows a search: the values of the best trial, all
/// training classes, as many epochs as were best there.
ConfigNode chosen_config(const StudyRun& run, const SearchResult& search);

/// The run with the values of the best trial, and nothing else changed: for
/// folds, which are held out from the trainings that follow, too.
StudyRun with_chosen_values(const StudyRun& run, const SearchResult& search);

/// search.json: a list with the trials and the choice of each combination.
std::string search_json(const Study& study,
                        const std::vector<SearchResult>& searches);

/// The choice of each combination, and the same in Markdown.
TextTable search_choices(const Study& study,
                         const std::vector<SearchResult>& searches);
std::string search_table(const Study& study,
                         const std::vector<SearchResult>& searches);

}  // namespace kith
