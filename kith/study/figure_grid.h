#pragma once

#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/study/results.h"

namespace kith {

/// What every kind of figure is told.
struct FigureOptions {
  std::string title;
  std::vector<std::string> only;

  void describe(OptionSet& set);

  /// The title of a figure of this study.
  const std::string& title_for(const Study& study) const {
    return title.empty() ? study.title : title;
  }
};

/// The axes of a study as a figure shows them: one along `x` perhaps, the
/// others as series.
struct FigureGrid {
  struct Series {
    std::string name;  ///< Labels of its axes, "margin, with".
    Labels labels;     ///< Empty at the axis along x.
  };

  int64_t x_axis = -1;
  std::vector<std::string> x_labels;  ///< Those that `only` leaves.
  std::vector<Series> series;         ///< The last axis fastest.

  /// The combination of a series at a label of the axis along x.
  Labels at(const Series& one, const std::string& x_label) const;
};

/// Which axes a figure uses.
struct FigureAxes {
  std::string figure;  ///< Its kind, for errors: "lines".
  std::string x;       ///< Empty: none.
  /// Axes with commas between; empty: all but x that `only` does not hold to
  /// one label.
  std::string series;
  std::vector<std::string> only;  ///< "axis=label".
};

/// ConfigError names the figure and its key for an axis or label that the study
/// does not have, or an axis that would be averaged over.
FigureGrid make_grid(const Study& study, const FigureAxes& axes);

/// The runs whose labels `only` allows, of all combinations.
std::vector<const RunResult*> chosen_runs(const StudyResults& results,
                                          const FigureAxes& axes);

/// What a paper printed for a combination, in percent; NaN if nothing.
double published_percent(const Study& study, const Labels& labels,
                         const std::string& metric);

/// "mean and 95% interval over 3 seeds", for the numbers of values behind the
/// points of a figure; with one value each, that there is no interval.
std::string seeds_note(const std::vector<int64_t>& counts);

}  // namespace kith
