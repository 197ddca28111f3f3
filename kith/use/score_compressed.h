#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/eval/compression.h"
#include "kith/eval/evaluator.h"

namespace kith {

/// Of what forms of smaller vectors learn from, drawn by the seed if there are
/// more.
constexpr int64_t kMostLearntFrom = 20'000;

/// The forms that texts such as "pca:64+int8" say; ConfigError for one that
/// means nothing.
std::vector<CompressedForm> compressed_forms(
    const std::vector<std::string>& texts);

/// What is scored as it is, and how in a form.
struct CompressedTask {
  int64_t dim = 0;          ///< Of whole vectors.
  const EvalResult& whole;  ///< What these score.
  std::vector<NamedMetric> metrics;
  /// Unit vectors [n, D] to learn from, none of which is scored.
  std::function<Tensor()> learn_from;
  std::function<EvalResult(const CompressedForm&,
                           const std::vector<NamedMetric>&)>
      score;
};

struct CompressedScores {
  std::vector<CompressedResult> results;  ///< "float32" first.
  int64_t learnt_from = 0;                ///< Vectors; 0: nothing was learnt.
};

/// Scores galleries in each form, by the metrics of rankings. ConfigError if
/// none is one, or a form cannot be of such vectors.
CompressedScores score_compressed(std::vector<CompressedForm> forms,
                                  const CompressedTask& task,
                                  const EvaluateOptions& scoring);

/// Unit embeddings of training images for that, the same on all ranks.
/// DataError if there is no training split.
Tensor training_vectors(EmbeddingNet& net, const DataSet& data,
                        EmbedOptions options, uint64_t seed,
                        Progress& progress);

}  // namespace kith
