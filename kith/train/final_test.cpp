#include "kith/train/final_test.h"

#include <string>

#include <c10/core/GradMode.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/eval/protocol.h"

namespace kith {

std::optional<EvaluatorOptions> final_test_options(const RunConfig& config,
                                                   const DataSet& data,
                                                   const Protocol& protocol) {
  const ImageList& list = data.list();
  if (config.eval.split != "auto" || config.train.holds_out() ||
      eval_split(config.eval, list) != Split::kValidation ||
      list.of_split(Split::kTest).empty()) {
    return {};
  }
  try {
    eval_tasks(protocol, list, Split::kTest);
  } catch (const DataError& error) {
    log_warning(std::string("the test split will not be evaluated: ") +
                error.what());
    return {};
  }
  EvalOptions eval = config.eval;
  eval.split = split_name(Split::kTest);
  return evaluator_options(eval, config.train.workers);
}

KeptWeights::KeptWeights(const EmbeddingNet& net) : live_(net.state()) {
  for (const auto& [name, tensor] : live_) {
    kept_.push_back(tensor.detach().clone());
  }
}

KeptWeights::~KeptWeights() {
  const c10::NoGradGuard no_grad;
  for (size_t i = 0; i < live_.size(); ++i) live_[i].second.copy_(kept_[i]);
}

}  // namespace kith
