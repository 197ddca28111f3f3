#pragma once

#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/run/eval_metrics.h"
#include "kith/use/decide.h"

namespace kith {

/// Embeddings made anywhere, in files, and how they are scored.
struct ScoreFilesOptions {
  std::string embeddings = {};  ///< Float .npy [N, D]; rows are made unit.
  std::string labels = {};      ///< Integer .npy [N].
  /// Searched in, with labels of its own; empty: each item among the others.
  std::string gallery_embeddings = {};
  std::string gallery_labels = {};
  /// Of ROxford or RParis, instead of labels: the rows of queries and gallery
  /// are in its order, distractors last.
  std::string ground_truth = {};
  /// Integer .npy, a cluster for each item of the gallery; empty: k-means where
  /// a metric needs clusters.
  std::string clusters = {};
  /// Such as "recall_any@1,10"; empty: the protocol's usual ones.
  std::vector<std::string> metrics = {};
  /// Scored again in the order of these; see parse_rerank.
  std::vector<std::string> rerank = {};
  /// Forms of smaller vectors whose galleries are scored too: "pca:64+int8".
  std::vector<std::string> compress = {};
  /// Float .npy [n, D] that these learn from: other images.
  std::string learn_from = {};
  /// With a wish: what a threshold does.
  ThresholdOptions threshold = {};
  /// Embeddings that it is picked on, each among the others, with labels;
  /// empty: those that are scored.
  std::string threshold_embeddings = {};
  std::string threshold_labels = {};
  std::string threshold_out = {};  ///< A threshold.json; empty: none.
  /// A file larger than its `memory_mb` is read in blocks.
  EvaluateOptions scoring = {.bootstrap = 1000};
};

/// Scores them. ConfigError for options that do not go together, DataError for
/// files that do not.
EvalReport score_files(const ScoreFilesOptions& options, c10::Device device);

}  // namespace kith
