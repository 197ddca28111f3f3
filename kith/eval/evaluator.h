#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/eval/embedded_split.h"

namespace kith {

struct EvaluatorOptions {
  std::string protocol = "standard";
  /// Instead of one by its name.
  std::shared_ptr<const Protocol> own_protocol = nullptr;
  /// "train", "validation", "test", or "auto": validation if the data has such
  /// a split and test otherwise.
  std::string split = "auto";
  /// Such as "recall_any@1,10". Empty, without `own_metrics`: the protocol's
  /// usual ones.
  std::vector<std::string> metrics = {};
  std::vector<NamedMetric> own_metrics = {};  ///< After those by name.
  EmbedOptions embed = {};
  EvaluateOptions scoring = {};
  /// Embeddings of several ranks (those of `embed` and `scoring`) that together
  /// take more than this are shared, each keeping its own
  /// (EmbeddedSplit::sharing); 0: never.
  int64_t share_above_mb = 0;
};

/// The split of these options in a list. DataError for a name that no split
/// has.
Split evaluated_split(const std::string& split, const ImageList& list);

/// Evaluates networks on a data set: who is searched among whom (split and
/// protocol), how images are embedded, and which metrics are computed.
///
///     const Evaluator evaluator(data, {.metrics = {"recall_any@1,10"}});
///     const EvalResult result = evaluator(net);
class Evaluator {
 public:
  /// `data` must outlive it. ConfigError for an unknown protocol or metric,
  /// DataError for an unknown split.
  explicit Evaluator(const DataSet& data, EvaluatorOptions options = {});

  Split split() const { return split_; }
  const Protocol& protocol() const { return *protocol_; }
  const std::vector<NamedMetric>& metrics() const { return metrics_; }
  const EmbedOptions& embedding() const { return options_.embed; }

  /// Embeds and scores. Errors are those of embed() and score().
  EvalResult operator()(EmbeddingNet& net,
                        Progress& progress = silent_progress()) const;

  /// The tasks and their images, without embeddings. DataError if one is
  /// empty.
  EmbeddedSplit plan() const;

  /// The images of all tasks, embedded as the options say, or otherwise; shared
  /// if they are too large.
  EmbeddedSplit embed(EmbeddingNet& net, Progress& progress) const;
  EmbeddedSplit embed(EmbeddingNet& net, const EmbedOptions& embedding,
                      Progress& progress) const;

  EvalResult score(const EmbeddedSplit& embedded) const;
  EvalResult score(const EmbeddedSplit& embedded,
                   const EvaluateOptions& scoring) const;

 private:
  bool are_shared(const EmbeddingNet& net, const EmbedOptions& embedding) const;

  const DataSet& data_;
  EvaluatorOptions options_;
  std::shared_ptr<const Protocol> protocol_;
  Split split_;
  std::vector<NamedMetric> metrics_;
};

}  // namespace kith
