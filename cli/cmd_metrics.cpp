#include <cstdio>
#include <filesystem>

#include "cli/common.h"
#include "cli/metrics_report.h"
#include "cli/rank_flags.h"
#include "cli/score_flags.h"
#include "cli/this_rank.h"
#include "cli/threshold_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/eval/protocol.h"
#include "kith/study/metrics_table.h"
#include "kith/use/score_files.h"

namespace kith {
namespace {

struct MetricsFlags {
  ScoreFilesOptions files;
  std::string compress;
  ScoreFlags score;
  DeviceFlags device;
  RankFlags ranks;
};

void run_metrics(const MetricsFlags& flags) {
  if (flags.files.labels.empty() && flags.files.ground_truth.empty()) {
    throw ConfigError("kith metrics needs --labels (or --ground-truth)");
  }
  ScoreFilesOptions options = flags.files;
  options.scoring = flags.score.options();
  options.rerank = flags.score.rerank;
  options.compress = split_at_commas(flags.compress);
  if (!flags.score.metrics.empty()) {
    options.metrics = split_metric_list(flags.score.metrics);
  }
  flags.ranks.start();
  const c10::Device device = flags.ranks.device(flags.device);
  options.scoring.ranks = &flags.ranks.join(device);
  const EvalReport report = score_files(options, device);
  if (!speaks()) return;
  if (flags.score.json) {
    std::printf("%s", eval_metrics_json(report).c_str());
    return;
  }
  if (flags.score.format != "table") {
    const std::string name =
        std::filesystem::path(options.embeddings).stem().string();
    print_text(metrics_table(flags.score.format, name, report));
    return;
  }
  print_metrics(report.result);
  if (report.reranked) print_reranked(report.result, *report.reranked);
  print_definitions(report.result);
  if (!report.compressed.empty()) print_compressed(report.compressed);
  if (report.decision) print_decision(*report.decision);
}

}  // namespace

void add_metrics(CLI::App& app) {
  auto* command = app.add_subcommand(
      "metrics", "Retrieval metrics of embeddings made anywhere");
  auto flags = std::make_shared<MetricsFlags>();
  command
      ->add_option("--embeddings", flags->files.embeddings,
                   "Float .npy [N, D], compared by cosine similarity; a file "
                   "larger than --memory is read in blocks")
      ->required();
  auto* labels =
      command->add_option("--labels", flags->files.labels, "Integer .npy [N]");
  auto* gallery = command->add_option(
      "--gallery-embeddings", flags->files.gallery_embeddings,
      "Search in these; without them, each item among the others");
  auto* gallery_labels = command->add_option(
      "--gallery-labels", flags->files.gallery_labels, "Labels of the gallery");
  auto* truth = command->add_option(
      "--ground-truth", flags->files.ground_truth,
      "Of ROxford or RParis (gnd_*.pkl, or JSON of the same content) instead "
      "of labels: protocol 'revisited'");
  auto* clusters = command->add_option(
      "--clusters", flags->files.clusters,
      "Integer .npy: a cluster for each item of the gallery, for nmi, ami and "
      "f1; without it, seeded k-means");
  auto* compress = command->add_option(
      "--compress", flags->compress,
      "Also score galleries of smaller vectors: forms with commas, such as "
      "float16,int8,pca:64+int8,pq:16 (see: kith list compressions)");
  command
      ->add_option("--learn-from", flags->files.learn_from,
                   "With --compress: float .npy [n, D] of other images, which "
                   "pca, int8, binary and pq learn from")
      ->needs(compress);
  auto* threshold = add_threshold_flags(*command, flags->files.threshold);
  auto* threshold_embeddings = command->add_option(
      "--threshold-embeddings", flags->files.threshold_embeddings,
      "Embeddings (.npy) that the threshold is picked on, each among the "
      "others; default: those that are scored");
  auto* threshold_labels =
      command->add_option("--threshold-labels", flags->files.threshold_labels,
                          "Their labels, an integer .npy");
  command
      ->add_option("--threshold-out", flags->files.threshold_out,
                   "A threshold.json for kith index, search and serve")
      ->needs(threshold);
  threshold_embeddings->needs(threshold)->needs(threshold_labels);
  threshold_labels->needs(threshold_embeddings);
  threshold->excludes(truth);
  gallery_labels->needs(gallery);
  truth->needs(gallery)->excludes(labels)->excludes(gallery_labels);
  clusters->excludes(truth);
  flags->score.add_to(*command, join(usual_metrics("standard", ""), ","));
  flags->device.add_to(*command);
  flags->ranks.add_to(*command);
  command->callback([flags, gallery, gallery_labels, truth] {
    if (*gallery && !*gallery_labels && !*truth) {
      throw CLI::RequiresError("--gallery-embeddings", "--gallery-labels");
    }
    run_metrics(*flags);
  });
}

}  // namespace kith
