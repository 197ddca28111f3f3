#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kith/eval/compression.h"
#include "kith/eval/corruption_suite.h"
#include "kith/eval/decision.h"
#include "kith/eval/evaluate.h"
#include "kith/run/choose_checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/run/stored_decision.h"

namespace kith {

/// An evaluation and how it came about, for the metrics.json of one.
struct EvalReport {
  EvalResult result;
  std::string protocol = {};  ///< Its name; empty: nothing is said.
  std::string split = {};     ///< The same.
  /// The network; without a file nothing is said.
  ChosenCheckpoint checkpoint = {};
  std::string data = {};  ///< Other data than the run's; empty: those.
  /// How images were described, if not as the run says: "scales 1 0.7, flip".
  std::string descriptor = {};
  int64_t resamples = 0;  ///< Of the bootstrap.
  int64_t seed = 0;       ///< Of the bootstrap and of clusterings.
  bool by_class = false;  ///< With the values of each class.
  /// By label; null: none are known.
  const std::map<int64_t, std::string>* class_names = nullptr;
  std::map<std::string, double> published = {};  ///< Shares.
  std::string published_source = {};
  std::vector<CorruptedResult> corrupted = {};
  std::optional<EvalResult> reranked = {};  ///< The same in another order.
  std::vector<CompressedResult> compressed = {};  ///< "float32" first.
  int64_t learnt_from = 0;  ///< Embeddings of other images; 0: none.
  std::vector<BrokenImage> left_out = {};  ///< Images that cannot be read.
  std::optional<Decision> decision = {};   ///< What a threshold does.
};

/// One object: an entry a metric, by its name; "checkpoint" with "name",
/// "epoch", "step" and "file"; "data", a path or "of the run", and
/// "descriptor"; "protocol" with "name", "split", the numbers of queries and
/// gallery items and the rules; "intervals" and "definitions" of the metrics;
/// and, where there are such, "left_out", "by_class", "published",
/// "corruptions", "mean_of_corrupted" and "compressed", by form, "reranked":
/// the metrics after re-ranking, "by" what, and their "intervals", and
/// "threshold" (stored_decision.h). JSON, with the end of its line.
std::string eval_metrics_json(const EvalReport& report);

/// "best checkpoint (epoch 7), test split, protocol standard": what the numbers
/// are of, as far as it is known.
std::string evaluated_text(const EvalReport& report);

/// The folder for an evaluation below RUN/eval: "best-epoch-7-test-standard",
/// with other data or another descriptor behind it. Of another checkpoint,
/// split, protocol, data or descriptor it is another one.
std::string eval_folder_name(const EvalReport& report);

/// Writes it, and returns it.
std::string write_eval_metrics(const std::string& path,
                               const EvalReport& report);

/// What is read of such a file.
struct EvalMetrics {
  std::string file;  ///< That was read.
  std::string protocol;
  std::string split;
  /// Without a file, as an older kith wrote it: the last, as far as is known.
  ChosenCheckpoint checkpoint;
  std::string data;        ///< Empty: the run's own, as far as is known.
  std::string descriptor;  ///< Empty: the run's own.
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

  std::string reranked_by;                 ///< Empty: nothing was.
  std::map<std::string, double> reranked;  ///< By metric.

  /// Galleries of smaller vectors, "float32" first.
  struct Compressed {
    std::string form;
    int64_t bytes = 0;  ///< Of an item.
    std::map<std::string, double> metrics;
  };
  std::vector<Compressed> compressed;
  std::optional<StoredDecision> decision = {};
};

/// DataError, which names the file, if it is not what write_eval_metrics()
/// writes, of this kith or an earlier one.
EvalMetrics read_eval_metrics(const std::string& path);

/// All evaluations that were made of a run after its training (see
/// RunFolder::eval_files).
std::vector<EvalMetrics> read_run_evals(const RunFolder& run);

}  // namespace kith
