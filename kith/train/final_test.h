#pragma once

#include <optional>
#include <vector>

#include "kith/eval/evaluator.h"
#include "kith/train/run_config.h"

namespace kith {

/// How the best network of a run is evaluated on the test split, once, at its
/// end: if the images that `eval.split: auto` means are the data's own for
/// validation, so that the test split has no part in the choice. None if it is
/// not so, or, with a warning, if the protocol cannot.
std::optional<EvaluatorOptions> final_test_options(const RunConfig& config,
                                                   const DataSet& data,
                                                   const Protocol& protocol);

/// The weights of a network as they are, which it gets back at the end.
class KeptWeights {
 public:
  explicit KeptWeights(const EmbeddingNet& net);
  ~KeptWeights();
  KeptWeights(const KeptWeights&) = delete;
  KeptWeights& operator=(const KeptWeights&) = delete;

 private:
  NamedTensors live_;
  std::vector<Tensor> kept_;
};

}  // namespace kith
