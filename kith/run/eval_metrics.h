#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kith/eval/corruption_suite.h"
#include "kith/eval/evaluate.h"
#include "kith/run/run_metrics.h"

namespace kith {

/// An evaluation and how it came about, for eval/metrics.json.
struct EvalReport {
  EvalResult result;
  std::string protocol = {};  ///< Its name; empty: nothing is said.
  std::string split = {};     ///< The same.
  int64_t resamples = 0;      ///< Of the bootstrap.
  int64_t seed = 0;           ///< Of the bootstrap and of clusterings.
  bool by_class = false;      ///< With the values of each class.
  /// By label; null: none are known.
  const std::map<int64_t, std::string>* class_names = nullptr;
  std::map<std::string, double> published = {};  ///< Shares.
  std::string published_source = {};
  std::vector<CorruptedResult> corrupted = {};
  std::vector<BrokenImage> left_out = {};  ///< Images that cannot be read.
};

/// One object: an entry a metric, by its name; "protocol" with the numbers of
/// queries and gallery items and the rules; "intervals" and "definitions" of
/// the metrics; and, where there are such, "left_out", "by_class",
/// "published", "corruptions" and "mean_of_corrupted". JSON, with the end of
/// its line.
std::string eval_metrics_json(const EvalReport& report);

/// Writes it, and returns it.
std::string write_eval_metrics(const std::string& path,
                               const EvalReport& report);

/// What is read of such a file.
struct EvalMetrics {
  std::string protocol;
  std::string split;
  StoredEval found;
  std::map<std::string, Interval> intervals;  ///< By metric, where defined.
  std::string intervals_rule;                 ///< "95%, 1000 bootstrap ..."
  std::map<std::string, double> published;    ///< Shares.
  std::string published_source;

  /// Corrupted images, "none" first: the images as they are.
  struct Corrupted {
    std::string corruption;
    std::map<std::string, double> metrics;
  };
  std::vector<Corrupted> corruptions;
};

/// DataError, which names the file, if it is not what write_eval_metrics()
/// writes, of this kith or an earlier one.
EvalMetrics read_eval_metrics(const std::string& path);

}  // namespace kith
