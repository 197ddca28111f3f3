#include "kith/use/score_compressed.h"

#include <set>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/eval/metric_name.h"
#include "kith/index/recall.h"
#include "kith/index/tell_others.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

/// Metrics of all embeddings together are not of what a search finds.
std::vector<NamedMetric> ranking_metrics(const std::vector<NamedMetric>& all) {
  std::vector<NamedMetric> metrics;
  std::vector<std::string> others;
  for (const NamedMetric& metric : all) {
    if (dynamic_cast<const RankMetric*>(metric.metric.get()) != nullptr) {
      metrics.push_back(metric);
    } else {
      others.push_back(metric.name);
    }
  }
  if (metrics.empty()) {
    throw ConfigError(
        "option 'compress' scores what is found among smaller vectors, and "
        "none of the metrics is one of rankings: add one such as recall_any@1");
  }
  if (!others.empty()) {
    log_info("option 'compress' leaves out " + join(others) +
             ", which no ranking is in");
  }
  return metrics;
}

/// The part of a result that is of rankings.
EvalResult only(const EvalResult& whole,
                const std::vector<NamedMetric>& metrics) {
  EvalResult result = whole;
  std::set<std::string> names;
  for (const NamedMetric& metric : metrics) names.insert(metric.name);
  std::erase_if(result.metrics, [&](const MetricValue& metric) {
    return !names.contains(MetricName::parse(metric.name).metric());
  });
  for (MetricValue& metric : result.metrics) metric.by_query.clear();
  return result;
}

}  // namespace

std::vector<CompressedForm> compressed_forms(
    const std::vector<std::string>& texts) {
  std::vector<CompressedForm> forms;
  for (const std::string& text : texts) forms.emplace_back(text);
  return forms;
}

CompressedScores score_compressed(std::vector<CompressedForm> forms,
                                  const CompressedTask& task,
                                  const EvaluateOptions& scoring) {
  const std::vector<NamedMetric> metrics = ranking_metrics(task.metrics);
  CompressedScores scores;
  scores.results.push_back(
      {"float32", 4 * task.dim, only(task.whole, metrics)});
  Tensor learn_from;
  for (CompressedForm& form : forms) {
    const int64_t bytes = form.bytes(task.dim);
    if (form.learns() && !learn_from.defined()) {
      learn_from = task.learn_from();
      scores.learnt_from = learn_from.size(0);
    }
    if (form.learns()) {
      form.learn(learn_from, scoring.seed, or_alone(scoring.ranks));
    }
    scores.results.push_back({form.name(), bytes, task.score(form, metrics)});
    log_info("scored " + form.name() + ", " + std::to_string(bytes) +
             " bytes an item");
  }
  return scores;
}

Tensor training_vectors(EmbeddingNet& net, const DataSet& data,
                        EmbedOptions options, uint64_t seed,
                        Progress& progress) {
  const std::vector<int64_t> all = data.list().of_split(Split::kTrain);
  if (all.empty()) {
    throw DataError(
        "option 'compress': pca, int8, binary and pq learn from training "
        "images, and the data set has none; float16 and dim do without");
  }
  std::vector<int64_t> images;
  for (const int64_t place :
       draw_positions(std::ssize(all), kMostLearntFrom, seed)) {
    images.push_back(all[static_cast<size_t>(place)]);
  }
  log_info("smaller vectors are learnt from " + std::to_string(images.size()) +
           " of " + std::to_string(all.size()) + " training images");
  options.change = {};
  options.times = nullptr;
  return normalize_rows(embed(net, data, images, options, progress));
}

}  // namespace kith
