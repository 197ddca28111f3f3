#include <cstdio>

#include "cli/common.h"
#include "cli/descriptor_flags.h"
#include "cli/metrics_report.h"
#include "cli/published_flags.h"
#include "cli/rank_flags.h"
#include "cli/score_flags.h"
#include "cli/this_rank.h"
#include "cli/threshold_flags.h"
#include "cli/usage.h"
#include "kith/core/log.h"
#include "kith/study/metrics_table.h"
#include "kith/use/evaluate_run.h"

namespace kith {
namespace {

struct EvalFlags {
  EvaluateRunOptions options;
  PublishedFlags published;
  std::string corruptions;
  std::string compress;
  DescriptorFlags descriptor;
  ScoreFlags score;
  DeviceFlags device;
  RankFlags ranks;
};

/// Those of --corruptions: all, or a list with commas.
std::vector<NamedCorruption> corruptions_of(const std::string& text) {
  if (text.empty()) return {};
  if (text == "all") return published_corruptions();
  return published_corruptions(split_at_commas(text));
}

/// What was found, for people.
void print_scores(const EvaluatedRun& run) {
  const EvalReport& report = run.report;
  print_line(evaluated_text(report));
  print_metrics(report.result,
                published_column(report.published, report.published_source));
  if (report.reranked) print_reranked(report.result, *report.reranked);
  print_definitions(report.result);
  if (!report.compressed.empty()) print_compressed(report.compressed);
  if (report.decision) print_decision(*report.decision);
  if (report.corrupted.empty()) return;
  print_corruptions(report.result, report.corrupted);
  std::string columns = "the image";
  for (const CorruptedResult& one : report.corrupted) {
    columns += ", " + one.corruption;
  }
  print_line(run.folder + "/corruptions.png, from the left: " + columns);
}

void run_eval(const EvalFlags& flags) {
  flags.published.check("eval", flags.options.model);
  EvaluateRunOptions options = flags.options;
  options.published = flags.published.published;
  if (!flags.score.metrics.empty()) {
    options.metrics = split_metric_list(flags.score.metrics);
  }
  options.rerank = flags.score.rerank;
  options.descriptor = flags.descriptor.choice();
  options.scoring = flags.score.options();
  options.corruptions = corruptions_of(flags.corruptions);
  options.compress = split_at_commas(flags.compress);
  flags.ranks.start();
  const c10::Device device = flags.ranks.device(flags.device);
  options.ranks = &flags.ranks.join(device);
  const EvaluatedRun run = evaluate_run(options, device, progress_bar());
  if (!speaks()) return;
  if (flags.score.json) {
    std::printf("%s", run.json.c_str());
    return;
  }
  const std::string written =
      "written: " + run.folder + "/metrics.json" +
      (options.diagnostics ? ", diagnostics.json" : "") +
      (run.report.decision ? ", threshold.json" : "");
  if (flags.score.format != "table") {
    print_text(metrics_table(flags.score.format, run.name, run.report));
    log_info(written);  // what is printed can be pasted as it is
    return;
  }
  print_scores(run);
  print_line(written);
}

}  // namespace

void add_eval(CLI::App& app) {
  auto* command = app.add_subcommand(
      "eval",
      "Evaluate a trained or published model: every metric, with its protocol");
  auto flags = std::make_shared<EvalFlags>();
  flags->published.add_to(*command, flags->options.model);
  add_checkpoint_flag(*command, flags->options.checkpoint);
  command->add_option("--data", flags->options.data,
                      "A configuration (its `eval` and `published` count "
                      "too), a list or an image folder; default: the run's own "
                      "data");
  command
      ->add_option("--on-broken", flags->options.on_broken,
                   "Images that cannot be read: stop, or skip them; "
                   "default: as a configuration says, else stop")
      ->check(one_of({"stop", "skip"}));
  command->add_option("--protocol", flags->options.protocol,
                      "See: kith list protocols; default: the run's");
  command
      ->add_option("--split", flags->options.split,
                   "Default: the run's, where auto is validation if there is "
                   "such, else test")
      ->check(one_of({"train", "validation", "test"}));
  command
      ->add_option("--corruptions", flags->corruptions,
                   "Also score corrupted images: all, or names with commas "
                   "(see: kith list corruptions); writes corruptions.png")
      ->expected(0, 1)
      ->default_str("all");
  command->add_option(
      "--compress", flags->compress,
      "Also score galleries of smaller vectors: forms with commas, such as "
      "float16,int8,pca:64+int8,pq:16 (see: kith list compressions)");
  command->add_flag("--diagnostics", flags->options.diagnostics,
                    "Also write diagnostics.json: hardest queries, confused "
                    "classes, hubs, near duplicates of training images");
  auto* threshold = add_threshold_flags(*command, flags->options.threshold);
  command
      ->add_option("--threshold-split", flags->options.threshold_split,
                   "Where the threshold is picked; default: where it is "
                   "reported")
      ->check(one_of({"train", "validation", "test"}))
      ->needs(threshold);
  command->add_option(
      "--out", flags->options.out,
      "Folder of metrics.json; default: below RUN/eval, or NAME-eval here of "
      "--weights, one for each checkpoint, split, protocol and data");
  flags->descriptor.add_to(*command);
  flags->score.add_to(*command, "the run's, or the protocol's usual ones");
  flags->device.add_to(*command);
  flags->ranks.add_to(*command);
  command->callback([flags] { run_eval(*flags); });
}

}  // namespace kith
