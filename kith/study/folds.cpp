#include "kith/study/folds.h"

#include <filesystem>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/sha256.h"
#include "kith/eval/embedded_split.h"
#include "kith/eval/eval_json.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/study/tasks.h"
#include "kith/train/checkpoint.h"
#include "kith/train/run_config.h"
#include "kith/train/run_place.h"
#include "kith/train/run_state.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxMarkBytes = 4096;

std::string fold_folder(const std::string& folder, int64_t fold) {
  return folder + "/fold-" + std::to_string(fold);
}

std::string checkpoint_in(const std::string& fold) {
  return fold + "/checkpoints/best.safetensors";
}

/// The configuration of a fold that is trained to its end.
RunConfig fold_config(const std::string& fold) {
  if (!fs::exists(fold + "/metrics.json")) {
    throw DataError(fold +
                    ": no finished training; train it with "
                    "train.folds=N and train.fold=I, in " +
                    fold);
  }
  ConfigNode config = read_checkpoint_info(checkpoint_in(fold)).config;
  follow_run(config, fold);
  return complete_config(config);
}

/// The configuration of all folds, which differ in `train.fold` only.
RunConfig common_config(const std::string& folder) {
  const RunConfig first = fold_config(fold_folder(folder, 1));
  if (first.train.folds == 0) {
    throw DataError(fold_folder(folder, 1) +
                    ": not trained on folds ('train.folds' is 0)");
  }
  for (int64_t fold = 2; fold <= first.train.folds; ++fold) {
    const std::string place = fold_folder(folder, fold);
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

/// Embeddings of a fold's network: those in its folder, or made and kept there.
Tensor fold_embeddings(const std::string& fold, const RunConfig& config,
                       const DataSet& data, const EmbeddedSplit& plan,
                       c10::Device device, Progress& progress) {
  const std::string path = fold + "/test.npy";
  const std::string mark_path = fold + "/test.json";
  const std::string mark = embeddings_mark(fold, data, plan);
  const auto rows = static_cast<int64_t>(plan.rows_of.size());
  if (fs::exists(path)) {
    const bool is_own =
        fs::exists(mark_path) && read_file(mark_path, kMaxMarkBytes) == mark;
    const Tensor kept = is_own ? load_embeddings(path) : Tensor();
    if (kept.defined() && kept.size(0) == rows) return kept;
    log_warning(path +
                ": not of this network or not of these pictures; made again");
  }
  const LoadedModel model = load_model(checkpoint_in(fold), device);
  EmbedOptions options{config.eval.batch,
                       {worker_count(config.train.workers), 2}};
  options.descriptor = config.eval.descriptor;
  const Tensor embeddings =
      normalize_rows(embed(*model.net, data, plan.rows_of, options, progress))
          .cpu()
          .contiguous();
  fs::remove(mark_path);  // until its own embeddings are there
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
    metric.name = name + "/" + metric.name;
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
                   const std::vector<EvalResult>& folds) {
  Json json = {{"protocol", config.eval.protocol},
               {"split", "test"},
               {"last", Json::parse(eval_json(result))},
               {"folds", Json::array()},
               {"trained", Json::array()},
               {"history", Json::array()}};
  for (size_t i = 0; i < folds.size(); ++i) {
    json["folds"].push_back(Json::parse(eval_json(folds[i])).at("metrics"));
    json["trained"].push_back(
        training_mark(fold_folder(folder, static_cast<int64_t>(i) + 1)));
  }
  write_file_atomically(folder + "/metrics.json", json.dump(2) + "\n");
}

}  // namespace

EvalResult score_folds(const std::string& folder, c10::Device device,
                       Progress& progress) {
  const RunConfig config = common_config(folder);
  const std::unique_ptr<DataSet> data = make_data_set(run_data(config.tree));
  const std::unique_ptr<Protocol> protocol =
      protocol_registry()
          .at(config.eval.protocol, "eval.protocol")
          .make(ConfigNode::map(), "protocol");
  EmbeddedSplit split = plan_split(*data, Split::kTest, *protocol);
  const std::vector<NamedMetric> metrics = parse_metrics(config.eval.metrics);

  std::vector<Tensor> columns;
  std::vector<EvalResult> folds;
  for (int64_t fold = 1; fold <= config.train.folds; ++fold) {
    columns.push_back(fold_embeddings(fold_folder(folder, fold), config, *data,
                                      split, device, progress));
    split.embeddings = columns.back();
    folds.push_back(evaluate_split(split, metrics));
  }
  split.embeddings = normalize_rows(torch::cat(columns, 1));
  EvalResult result;
  add_metrics("separated", mean_of(folds), result);
  add_metrics("concatenated", evaluate_split(split, metrics), result);
  write_metrics(folder, config, result, folds);
  return result;
}

}  // namespace kith
