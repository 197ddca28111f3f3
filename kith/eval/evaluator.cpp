#include "kith/eval/evaluator.h"

#include <utility>

#include "kith/eval/embed_blocks.h"
#include "kith/index/tell_others.h"

namespace kith {

Split evaluated_split(const std::string& split, const ImageList& list) {
  if (split != "auto") return parse_split(split, "eval.split");
  return list.of_split(Split::kValidation).empty() ? Split::kTest
                                                   : Split::kValidation;
}

Evaluator::Evaluator(const DataSet& data, EvaluatorOptions options)
    : data_(data),
      options_(std::move(options)),
      protocol_(options_.own_protocol),
      split_(evaluated_split(options_.split, data.list())) {
  if (protocol_ == nullptr) {
    protocol_ = protocol_registry()
                    .at(options_.protocol, "eval.protocol")
                    .make(ConfigNode::map(), "protocol");
  }
  if (options_.metrics.empty() && options_.own_metrics.empty()) {
    options_.metrics = protocol_->metrics();
    if (options_.metrics.empty()) {
      options_.metrics = usual_metrics("standard", "");
    }
  }
  for (const NamedMetric& own : options_.own_metrics) {
    if (own.metric != nullptr) continue;
    throw ConfigError("own_metrics: '" + own.name + "' is a null pointer");
  }
  metrics_ = parse_metrics(options_.metrics);
  metrics_.insert(metrics_.end(), options_.own_metrics.begin(),
                  options_.own_metrics.end());
}

EvalResult Evaluator::operator()(EmbeddingNet& net, Progress& progress) const {
  return score(embed(net, progress));
}

EmbeddedSplit Evaluator::plan() const {
  return plan_split(data_, split_, *protocol_);
}

EmbeddedSplit Evaluator::embed(EmbeddingNet& net, Progress& progress) const {
  return embed(net, options_.embed, progress);
}

EmbeddedSplit Evaluator::embed(EmbeddingNet& net, const EmbedOptions& embedding,
                               Progress& progress) const {
  if (are_shared(net, embedding)) {
    return embed_shared_split(net, data_, split_, *protocol_, embedding,
                              progress);
  }
  return embed_split(net, data_, split_, *protocol_, embedding, progress);
}

bool Evaluator::are_shared(const EmbeddingNet& net,
                           const EmbedOptions& embedding) const {
  if (options_.share_above_mb == 0 || or_alone(embedding.ranks).size() == 1) {
    return false;
  }
  const int64_t rows = std::ssize(plan().rows_of);
  const int64_t bytes = 4 * rows * embedding_dim(net, embedding);
  return bytes > options_.share_above_mb << 20;
}

EvalResult Evaluator::score(const EmbeddedSplit& embedded) const {
  return score(embedded, options_.scoring);
}

EvalResult Evaluator::score(const EmbeddedSplit& embedded,
                            const EvaluateOptions& scoring) const {
  return evaluate_split(embedded, metrics_, scoring);
}

}  // namespace kith
