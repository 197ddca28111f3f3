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

/// metrics.json of a run that is finished:
///
///     {"protocol": "standard", "split": "test",
///      "last": {"epoch": 2, "step": 40, "queries": 100, ..., "rules": "...",
///               "metrics": {"recall_any@1": 0.5, ...}},
///      "best": {"metric": "recall_any@1", "value": 0.5, "epoch": 2,
///               "step": 40, "chosen_on": "test"},
///      "history": [...]}
///
/// A cross validation has, instead of "best", "folds" with the metrics of each
/// network and "trained" with the marks of their trainings.
struct RunMetrics {
  std::string protocol;
  std::string split;
  std::optional<StoredEval> last = {};  ///< None: trained without evaluations.
  std::optional<BestPoint> best = {};
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
