#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/study/study.h"

namespace kith {

/// An evaluation during a run.
struct CurvePoint {
  int64_t epoch = 0;
  int64_t step = 0;
  std::map<std::string, double> metrics;
};

/// What a finished training of a study measured.
struct RunResult {
  Labels labels;
  int64_t seed = 0;
  std::string folder;  ///< Of the run, to be opened.
  std::string split;   ///< That `metrics` are of.
  /// Whether the data's validation images chose the network of `metrics`.
  bool chosen_on_validation = false;
  /// Shares. Of the last evaluation; where validation images chose a network,
  /// of that one's test.
  std::map<std::string, double> metrics;
  /// Of metrics of `study.evaluations`: 95%, over the queries.
  std::map<std::string, Interval> intervals = {};
  std::vector<CurvePoint> curve;  ///< All evaluations.
};

/// All that is known of a study; runs that are not finished are left out.
struct StudyResults {
  const Study* study = nullptr;
  std::vector<RunResult> runs;  ///< In the order of study_runs().

  /// Values of a metric by seed for a combination; an empty label stands for
  /// any. Runs without it, or with an undefined value, are left out.
  std::vector<double> values(const Labels& labels,
                             const std::string& metric) const;
};

/// Fewer runs say too little of how far others would be from their mean: the
/// interval of two reaches 6.4 times as far as they are apart.
inline constexpr int64_t kLeastRunsOfInterval = 3;

/// Mean and 95% interval (Student's t) of some runs.
struct Spread {
  double mean = 0.0;        ///< NaN without values.
  double half_width = 0.0;  ///< NaN below kLeastRunsOfInterval values.
  double low = 0.0;         ///< The smallest value; NaN without values.
  double high = 0.0;        ///< The largest one.
  int64_t count = 0;
};

Spread spread_of(const std::vector<double>& values);

/// metrics.json of a finished run. DataError, which says what to do, if the
/// file is not such.
RunMetrics read_metrics_to_train_again(const RunFolder& folder);

/// What metrics.json of a finished run says. A metric in a part, such as
/// "medium/map", is also there as "map" if it is the first of that name.
/// Values that are lists or undefined are left out. DataError if the file is
/// not such.
RunResult read_run_result(const StudyRun& run, const std::string& folder);

/// The results of all finished runs of a study in `out`, with those of its
/// evaluations that are made, and its averages. `study` must outlive them.
StudyResults read_results(const Study& study, const std::string& out);

/// Whether a metric is a share, which is printed in percent.
bool metric_is_share(const std::string& name);

}  // namespace kith
