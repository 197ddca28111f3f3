#pragma once

#include <vector>

#include "kith/eval/embed.h"
#include "kith/eval/evaluate.h"
#include "kith/eval/protocol.h"

namespace kith {

/// A split of a data set under a protocol, embedded.
struct EmbeddedSplit {
  std::vector<EvalTask> tasks;
  Tensor embeddings;  ///< Unit vectors, of every image in a task once.
  /// What galleries have of them instead, [N, D] too: what codes stand for.
  /// Undefined: the embeddings themselves.
  Tensor items = {};
  std::vector<int64_t> rows_of;  ///< Their positions in the list, rising.
  std::vector<int64_t> labels;   ///< Their labels.
  /// Not null: these ranks share the embeddings (shared_rows.h), and each has
  /// those from its `first` on only.
  Communicator* sharing = nullptr;
  int64_t first = 0;

  /// What a task compares with what. Those who share embeddings call it
  /// together.
  Scored scored(const EvalTask& task) const;
};

/// The tasks of a split and the images in them, without embeddings. Throws
/// DataError if one is empty.
EmbeddedSplit plan_split(const DataSet& data, Split split,
                         const Protocol& protocol);

/// Embeds the queries and galleries of all tasks. Throws DataError if one is
/// empty.
EmbeddedSplit embed_split(EmbeddingNet& net, const DataSet& data, Split split,
                          const Protocol& protocol, const EmbedOptions& options,
                          Progress& progress);

/// The same for embeddings that need not fit in the memory of one of
/// options.ranks: they share them. Only evaluate_split() takes what comes of
/// it.
EmbeddedSplit embed_shared_split(EmbeddingNet& net, const DataSet& data,
                                 Split split, const Protocol& protocol,
                                 const EmbedOptions& options,
                                 Progress& progress);

/// Scores every task. Metrics of a task with a name are "name/metric". Tasks of
/// the same name are draws: values are the means over them, and intervals, if
/// wanted, say how far the mean of as many draws may be off (Student's t).
EvalResult evaluate_split(const EmbeddedSplit& split,
                          const std::vector<NamedMetric>& metrics,
                          const EvaluateOptions& options = {});

}  // namespace kith
