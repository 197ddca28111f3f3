#include <cstdio>
#include <filesystem>

#include <torch/torch.h>

#include "cli/common.h"
#include "cli/metrics_report.h"
#include "cli/score_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "kith/data/ground_truth.h"
#include "kith/eval/revisited.h"
#include "kith/io/tensor_io.h"
#include "kith/study/metrics_table.h"
#include "kith/use/evaluate_run.h"

namespace kith {
namespace {

struct MetricsFlags {
  std::string embeddings;
  std::string labels;
  std::string gallery_embeddings;
  std::string gallery_labels;
  std::string ground_truth;
  std::string clusters;
  ScoreFlags score;
  DeviceFlags device;
};

constexpr const char* kUsual = "recall_any@1,2,4,8,map_at_r,precision@1";
constexpr const char* kUsualRevisited = "map_trapezoid,mp@1,5,10";

Scored load_scored(const MetricsFlags& flags, c10::Device device) {
  // Both sides may be held in memory beside the blocks that they are cut into.
  const int64_t most = flags.score.memory_mb;
  Scored scored;
  scored.queries = unit_rows(flags.embeddings, most, device);
  if (flags.gallery_embeddings.empty()) return scored;
  scored.gallery = unit_rows(flags.gallery_embeddings, most, device);
  if (scored.gallery.dim() != scored.queries.dim()) {
    throw DataError(flags.gallery_embeddings + ": embeddings of size " +
                    std::to_string(scored.gallery.dim()) +
                    ", the queries have " +
                    std::to_string(scored.queries.dim()));
  }
  return scored;
}

EvalResult score_labels(const MetricsFlags& flags, Scored scored,
                        const std::vector<NamedMetric>& metrics) {
  scored.query_labels = load_labels(flags.labels, scored.queries.count());
  const bool apart = scored.gallery.defined();
  if (apart) {
    scored.gallery_labels =
        load_labels(flags.gallery_labels, scored.gallery.count());
  }
  EvaluateOptions options = flags.score.options();
  if (!flags.clusters.empty()) {
    options.clusters = load_labels(
        flags.clusters, (apart ? scored.gallery : scored.queries).count());
  }
  return evaluate(scored, metrics, options);
}

/// The three settings of ROxford and RParis.
EvalResult score_revisited(const MetricsFlags& flags, Scored scored,
                           const std::vector<NamedMetric>& metrics) {
  const GroundTruth truth = read_ground_truth(flags.ground_truth);
  const auto queries = static_cast<int64_t>(truth.queries.size());
  const auto images = static_cast<int64_t>(truth.images.size());
  if (scored.queries.count() != queries || scored.gallery.count() < images) {
    throw DataError(flags.ground_truth + ": " + std::to_string(queries) +
                    " queries and " + std::to_string(images) +
                    " images, but there are embeddings of " +
                    std::to_string(scored.queries.count()) + " and " +
                    std::to_string(scored.gallery.count()) +
                    "; rows must be in its order, distractors last");
  }
  EvalResult result;
  for (const char* setting : kRevisitedSettings) {
    scored.lists = revisited_lists(truth.truths, setting);
    add_part(setting, evaluate(scored, metrics, flags.score.options()), result);
  }
  return result;
}

void run_metrics(const MetricsFlags& flags) {
  const c10::Device device = flags.device.apply();
  const bool revisited = !flags.ground_truth.empty();
  if (flags.labels.empty() && !revisited) {
    throw ConfigError("kith metrics needs --labels (or --ground-truth)");
  }
  std::string names = flags.score.metrics;
  if (names.empty()) names = revisited ? kUsualRevisited : kUsual;
  const std::vector<NamedMetric> metrics =
      parse_metrics(split_metric_list(names));
  const Scored scored = load_scored(flags, device);
  const Timer timer;
  const EvalResult result = revisited ? score_revisited(flags, scored, metrics)
                                      : score_labels(flags, scored, metrics);
  log_scoring(result, timer.seconds());
  if (flags.score.json) {
    std::printf("%s", eval_metrics_json(flags.score.report(result)).c_str());
    return;
  }
  if (flags.score.format != "table") {
    const std::string name =
        std::filesystem::path(flags.embeddings).stem().string();
    print_text(
        metrics_table(flags.score.format, name, flags.score.report(result)));
    return;
  }
  print_metrics(result);
  print_definitions(result);
}

}  // namespace

void add_metrics(CLI::App& app) {
  auto* command = app.add_subcommand(
      "metrics", "Retrieval metrics of embeddings made anywhere");
  auto flags = std::make_shared<MetricsFlags>();
  command
      ->add_option("--embeddings", flags->embeddings,
                   "Float .npy [N, D], compared by cosine similarity; a file "
                   "larger than --memory is read in blocks")
      ->required();
  auto* labels =
      command->add_option("--labels", flags->labels, "Integer .npy [N]");
  auto* gallery = command->add_option(
      "--gallery-embeddings", flags->gallery_embeddings,
      "Search in these; without them, each item among the others");
  auto* gallery_labels = command->add_option(
      "--gallery-labels", flags->gallery_labels, "Labels of the gallery");
  auto* truth = command->add_option(
      "--ground-truth", flags->ground_truth,
      "Of ROxford or RParis (gnd_*.pkl, or JSON of the same content) instead "
      "of labels: protocol 'revisited'");
  auto* clusters = command->add_option(
      "--clusters", flags->clusters,
      "Integer .npy: a cluster for each item of the gallery, for nmi, ami and "
      "f1; without it, seeded k-means");
  gallery_labels->needs(gallery);
  truth->needs(gallery)->excludes(labels)->excludes(gallery_labels);
  clusters->excludes(truth);
  flags->score.add_to(*command, kUsual);
  flags->device.add_to(*command);
  command->callback([flags, gallery, gallery_labels, truth] {
    if (*gallery && !*gallery_labels && !*truth) {
      throw CLI::RequiresError("--gallery-embeddings", "--gallery-labels");
    }
    run_metrics(*flags);
  });
}

}  // namespace kith
