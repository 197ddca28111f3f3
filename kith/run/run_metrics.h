#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kith/data/left_out.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// A metric as a file has it.
struct StoredMetric {
  std::string name;                                         ///< See MetricName.
  double value = std::numeric_limits<double>::quiet_NaN();  ///< NaN: undefined.
  std::vector<double> list = {};  ///< Instead of the value, where it is one.

  bool is_list() const { return !list.empty(); }
};

/// An evaluation as the files of a run have it: what was found, and the rules
/// it stands on.
struct StoredEval {
  std::vector<EvalPart> parts = {};
  std::string rules = {};
  std::vector<StoredMetric> metrics = {};

  /// Null if it was not measured.
  const StoredMetric* find(const std::string& name) const;
  /// The value of a metric by its full name; NaN if it has none.
  double at(const std::string& name) const;
};

StoredEval stored(const EvalResult& result);

/// An evaluation during a run; of the network before training at epoch and
/// step 0.
struct RunPoint {
  int64_t epoch = 0;
  int64_t step = 0;
  StoredEval found;
};

/// The evaluation whose network is the best checkpoint.
struct BestPoint {
  std::string metric;
  double value = std::numeric_limits<double>::quiet_NaN();
  int64_t epoch = 0;
  int64_t step = 0;
};

/// The best network on the test split, which had no part in choosing it.
struct TestPoint {
  int64_t epoch = 0;  ///< Of the best checkpoint.
  int64_t step = 0;
  int64_t after = 0;  ///< Steps that the run had done when it was tested.
  StoredEval found;
};

/// The best of a run's evaluations by a metric, the first of equal ones; those
/// of the network before training only if `with_untrained`. None if the metric
/// is defined in none.
std::optional<BestPoint> best_point(const std::vector<RunPoint>& history,
                                    const std::string& metric,
                                    bool with_untrained);

/// metrics.json of a run that is finished:
///
///     {"protocol": "standard", "split": "validation",
///      "last": {"epoch": 2, "step": 40, "queries": 100, ..., "rules": "...",
///               "metrics": {"recall_any@1": 0.5, ...}},
///      "best": {"metric": "recall_any@1", "value": 0.5, "epoch": 1,
///               "step": 20, "chosen_on": "validation"},
///      "ended_by": "train.epochs",
///      "test": {"checkpoint": "best", "epoch": 1, "step": 20,
///               "after_step": 40, "split": "test", "queries": 100, ...,
///               "metrics": {"recall_any@1": 0.4, ...}},
///      "history": [...]}
///
/// "split" is the one that "last", "best" and "history" are of; "test" is there
/// if that is validation and the data have a test split too.
///
/// A cross validation has, instead of "best", "folds" with the metrics of each
/// network and "trained" with the marks of their trainings.
struct RunMetrics {
  std::string protocol;
  std::string split;
  std::optional<StoredEval> last = {};  ///< None: trained without evaluations.
  std::optional<BestPoint> best = {};
  /// The split that `best` was chosen on; "nothing" if there was one evaluation
  /// after training only. Empty, as in a file of an earlier kith: `split`.
  std::string chosen_on = {};
  /// The key that ended it, such as "train.epochs" or "train.patience"; empty:
  /// an earlier kith did not say.
  std::string ended_by = {};
  std::optional<TestPoint> test = {};
  std::vector<RunPoint> history = {};  ///< The last of them is `last`.
  std::vector<StoredEval> folds = {};
  std::vector<std::string> trained = {};
  /// What the data set left out; written as "left_out": {"images": 2, "first":
  /// [paths]} if there is any, and not read: left_out.csv has it.
  std::vector<BrokenImage> left_out = {};
};

/// DataError, which names the file, if it is not what write_run_metrics()
/// writes, of this kith or an earlier one.
RunMetrics read_run_metrics(const std::string& path);

void write_run_metrics(const std::string& path, const RunMetrics& metrics);

}  // namespace kith
