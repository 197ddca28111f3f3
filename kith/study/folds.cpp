#include "kith/study/folds.h"

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/sha256.h"
#include "kith/data/check.h"
#include "kith/eval/evaluator.h"
#include "kith/eval/metric_name.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/run/run_place.h"
#include "kith/run/run_state.h"
#include "kith/study/tasks.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxMarkBytes = 4096;

/// The configuration of a fold that is trained to its end.
RunConfig fold_config(const std::string& fold) {
  if (!RunFolder(fold).is_finished()) {
    throw DataError(fold +
                    ": no finished training; train it with "
                    "train.folds=N and train.fold=I, in " +
                    fold);
  }
  ConfigNode config =
      read_checkpoint_info(RunFolder(fold).checkpoint("best")).config;
  follow_run(config, fold);
  return complete_config(config);
}

/// The configuration of all folds, which differ in `train.fold` only.
RunConfig common_config(const std::string& folder) {
  const RunConfig first = fold_config(RunFolder(folder).fold(1).path());
  if (first.train.folds == 0) {
    throw DataError(RunFolder(folder).fold(1).path() +
                    ": not trained on folds ('train.folds' is 0)");
  }
  for (int64_t fold = 2; fold <= first.train.folds; ++fold) {
    const std::string place = RunFolder(folder).fold(fold).path();
    ConfigNode expected = first.tree;
    apply_override(expected, "train.fold=" + std::to_string(fold));
    const std::string changed =
        first_difference(expected, fold_config(place).tree);
    if (!changed.empty()) {
      throw DataError(place + ": '" + changed +
                      "' is not what belongs to fold-1 beside it");
    }
  }
  return first;
}

/// What the embeddings of a fold's network are made of: the network and the
/// pictures.
std::string embeddings_mark(const std::string& fold, const DataSet& data,
                            const EmbeddedSplit& plan) {
  Sha256 images;
  for (const int64_t row : plan.rows_of) {
    const std::string& path = data.list().items[static_cast<size_t>(row)].path;
    images.add(path.c_str(), path.size() + 1);
  }
  return Json({{"trained", training_mark(fold)}, {"images", images.hex()}})
             .dump(2) +
         "\n";
}

/// All folds are scored on the test split.
EvaluatorOptions test_options(const RunConfig& config) {
  EvaluatorOptions options =
      evaluator_options(config.eval, config.train.workers);
  options.split = split_name(Split::kTest);
  return options;
}

/// Embeddings of a fold's network: those in its folder, or made and kept there.
Tensor fold_embeddings(const std::string& fold, const RunConfig& config,
                       const DataSet& data, const EmbeddedSplit& plan,
                       c10::Device device, Progress& progress) {
  const std::string path = fold + "/test.npy";
  const std::string mark_path = fold + "/test.json";
  const std::string mark = embeddings_mark(fold, data, plan);
  const auto rows = static_cast<int64_t>(plan.rows_of.size());
  if (path_exists(path)) {
    const bool is_own =
        path_exists(mark_path) && read_file(mark_path, kMaxMarkBytes) == mark;
    const Tensor kept = is_own ? load_embeddings(path) : Tensor();
    if (kept.defined() && kept.size(0) == rows) return kept;
    log_warning(path +
                ": not of this network or not of these pictures; made again");
  }
  const LoadedModel model =
      load_model(RunFolder(fold).checkpoint("best"), device);
  const Tensor embeddings =
      normalize_rows(embed(*model.net, data, plan.rows_of,
                           test_options(config).embed, progress))
          .cpu()
          .contiguous();
  remove_file(mark_path);  // until its own embeddings are there
  save_npy(path, embeddings);
  write_file_atomically(mark_path, mark);
  return embeddings;
}

/// Adds the metrics of a result to another, under a name in front.
void add_metrics(const std::string& name, const EvalResult& from,
                 EvalResult& to) {
  to.parts = from.parts;
  to.counted_as_misses = from.counted_as_misses;
  for (MetricValue metric : from.metrics) {
    if (!metric.list.empty()) continue;
    metric.name = MetricName::parse(metric.name).within(name).text();
    to.metrics.push_back(std::move(metric));
  }
}

EvalResult mean_of(const std::vector<EvalResult>& results) {
  EvalResult mean = results.front();
  for (size_t m = 0; m < mean.metrics.size(); ++m) {
    double sum = 0;
    for (const EvalResult& result : results) sum += result.metrics[m].value;
    mean.metrics[m].value = sum / static_cast<double>(results.size());
  }
  return mean;
}

void write_metrics(const std::string& folder, const RunConfig& config,
                   const EvalResult& result,
                   const std::vector<EvalResult>& folds,
                   const std::vector<BrokenImage>& left_out) {
  const RunFolder run(folder);
  RunMetrics metrics;
  metrics.protocol = config.eval.protocol;
  metrics.split = split_name(Split::kTest);
  metrics.last = stored(result);
  metrics.left_out = left_out;
  for (size_t i = 0; i < folds.size(); ++i) {
    metrics.folds.push_back(stored(folds[i]));
    metrics.trained.push_back(
        training_mark(run.fold(static_cast<int64_t>(i) + 1).path()));
  }
  write_run_metrics(run.metrics(), metrics);
}

}  // namespace

EvalResult score_folds(const std::string& folder, c10::Device device,
                       Progress& progress) {
  const RunConfig config = common_config(folder);
  const std::unique_ptr<DataSet> data = make_data_set(run_data(config.tree));
  leave_out_broken(*data, worker_count(config.train.workers), progress,
                   Split::kTest);
  const Evaluator evaluator(*data, test_options(config));
  EmbeddedSplit split = evaluator.plan();

  std::vector<Tensor> columns;
  std::vector<EvalResult> folds;
  for (int64_t fold = 1; fold <= config.train.folds; ++fold) {
    columns.push_back(fold_embeddings(RunFolder(folder).fold(fold).path(),
                                      config, *data, split, device, progress));
    split.embeddings = columns.back();
    folds.push_back(evaluator.score(split));
  }
  split.embeddings = normalize_rows(torch::cat(columns, 1));
  EvalResult result;
  add_metrics("separated", mean_of(folds), result);
  add_metrics("concatenated", evaluator.score(split), result);
  write_metrics(folder, config, result, folds, data->left_out());
  return result;
}

}  // namespace kith
