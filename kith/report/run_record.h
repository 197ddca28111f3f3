#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/config.h"
#include "kith/run/diagnostics_file.h"
#include "kith/run/eval_metrics.h"
#include "kith/run/run_changes.h"
#include "kith/run/run_log.h"

namespace kith {

/// A metric that is printed for a run.
struct RecordedMetric {
  std::string name;
  double value = 0;                       ///< As it is: shares in [0, 1].
  bool is_share = true;                   ///< Shown in percent.
  std::string definition = {};            ///< Empty if nothing says it.
  std::optional<double> before;           ///< Of the untrained network.
  std::optional<double> published;        ///< In the same unit as `value`.
  std::optional<Interval> interval = {};  ///< 95%, where one was computed.
  std::optional<double> reranked = {};    ///< Where kith eval has re-ranked.
};

/// What the folder of a run says of it, without its data or its network.
struct RunRecord {
  std::string name;    ///< Short, and different for every run of a report.
  std::string folder;  ///< As the user wrote it.
  ConfigNode config;
  std::vector<std::string> phases;  ///< "data", "forward", ...
  std::vector<LoggedStep> steps;
  std::vector<LoggedEval> evals;
  std::vector<RecordedMetric> metrics;  ///< Of the last evaluation.
  std::string protocol;                 ///< Its name.
  std::string split;                    ///< That was evaluated.
  std::string rules;                    ///< Queries, gallery, self, ties.
  std::string published_source;         ///< Of RecordedMetric::published.
  std::string intervals_rule;           ///< Of RecordedMetric::interval.
  std::string reranked_by;              ///< Of RecordedMetric::reranked.
  /// Those that were made after the training: the run's own data first, and of
  /// these its last network.
  std::vector<EvalMetrics> evaluations;
  std::vector<EvalMetrics::Corrupted> corruptions;
  std::vector<EvalMetrics::Compressed> compressed;
  /// "recall_any@1 97.80% at epoch 10, chosen on the test split"; may be
  /// empty.
  std::string best;
  /// Test images that are also training images, if they were looked for.
  std::optional<StoredDuplicates> duplicates;
  /// The split that it was chosen on; "nothing" if there was one evaluation
  /// after training only; empty: not known, or not yet.
  std::string chosen_on;
  /// The best network on the test split, if that had no part in the choice.
  std::optional<TestPoint> test;
  std::string ended_by;  ///< A key, such as "train.patience"; may be empty.
  std::vector<RunChange> changes;  ///< What it went on with when resumed.
  std::string left_out;  ///< "2 images that cannot be read: ..."; or empty.
  bool finished = false;
};

/// Reads config.yaml, log.jsonl, metrics.json and the later evaluations of a
/// run. `name` is set by name_runs(). DataError naming
/// file and line for what is no run; a run that is still being trained, or was
/// killed, is read as far as it is.
RunRecord read_run(const std::string& folder);

/// Gives every run the shortest tail of its folder's path that no other has.
void name_runs(std::vector<RunRecord>& runs);

/// A configuration key whose values differ between runs.
struct ConfigDifference {
  std::string key;                  ///< "loss.t2"
  std::vector<std::string> values;  ///< One per run; empty: the key is absent.
};

/// The keys in which the configurations differ, in the order of the first.
/// Options of a part (what has a `name`: a loss, a backbone) are compared among
/// the runs that use that part alone: that another part has other options is
/// said by `name`.
std::vector<ConfigDifference> config_differences(
    const std::vector<RunRecord>& runs);

/// Every leaf of a configuration: key and value as YAML.
std::vector<std::pair<std::string, std::string>> config_leaves(
    const ConfigNode& config);

}  // namespace kith
