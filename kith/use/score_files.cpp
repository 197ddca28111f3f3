#include "kith/use/score_files.h"

#include <utility>

#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "kith/data/ground_truth.h"
#include "kith/eval/protocol.h"
#include "kith/eval/revisited.h"
#include "kith/index/recall.h"
#include "kith/index/tell_others.h"
#include "kith/io/tensor_io.h"
#include "kith/run/threshold_file.h"
#include "kith/use/evaluate_run.h"
#include "kith/use/files.h"
#include "kith/use/score_compressed.h"

namespace kith {
namespace {

void check_together(const ScoreFilesOptions& options) {
  const bool apart = !options.gallery_embeddings.empty();
  if (options.ground_truth.empty()) {
    if (options.labels.empty()) {
      throw ConfigError("option 'labels' is needed (or option 'ground_truth')");
    }
    if (apart == options.gallery_labels.empty()) {
      throw ConfigError(
          "option 'gallery_embeddings' and option 'gallery_labels' need each "
          "other");
    }
    return;
  }
  if (!apart) {
    throw ConfigError(
        "option 'ground_truth' needs option 'gallery_embeddings'");
  }
  if (!options.labels.empty() || !options.gallery_labels.empty() ||
      !options.clusters.empty()) {
    throw ConfigError(
        "option 'ground_truth' is given instead of labels and clusters");
  }
}

void check_threshold_files(const ScoreFilesOptions& options) {
  if (options.threshold.wish.empty()) {
    for (const auto& [value, name] :
         {std::pair(options.threshold_embeddings, "threshold_embeddings"),
          std::pair(options.threshold_labels, "threshold_labels"),
          std::pair(options.threshold_out, "threshold_out")}) {
      if (value.empty()) continue;
      throw ConfigError(std::string("option '") + name +
                        "' goes with option 'threshold' only; leave it out");
    }
    return;
  }
  const ThresholdWish wish = ThresholdWish::parse(options.threshold.wish);
  if (!options.threshold_embeddings.empty() && !wish.is_rate()) {
    throw ConfigError(
        "option 'threshold_embeddings' goes with a rate in option 'threshold', "
        "as far=0.001, for which one is picked; leave it out");
  }
  if (options.threshold_embeddings.empty() !=
      options.threshold_labels.empty()) {
    throw ConfigError(
        "option 'threshold_embeddings' and option 'threshold_labels' need each "
        "other");
  }
}

Scored load_scored(const ScoreFilesOptions& options, c10::Device device) {
  // Both sides may be held in memory beside the blocks that they are cut into.
  const int64_t most = options.scoring.memory_mb;
  Scored scored;
  scored.queries = unit_rows(options.embeddings, most, device);
  if (options.gallery_embeddings.empty()) return scored;
  scored.gallery = unit_rows(options.gallery_embeddings, most, device);
  if (scored.gallery.dim() != scored.queries.dim()) {
    throw DataError(options.gallery_embeddings + ": embeddings of size " +
                    std::to_string(scored.gallery.dim()) +
                    ", the queries have " +
                    std::to_string(scored.queries.dim()));
  }
  return scored;
}

/// As it is, or in a form.
Scored in_form(const CompressedForm* form, const Scored& scored) {
  return form == nullptr ? scored : form->apply(scored);
}

EvalResult score_labels(const ScoreFilesOptions& options, Scored scored,
                        const std::vector<NamedMetric>& metrics,
                        const CompressedForm* form) {
  scored.query_labels = load_labels(options.labels, scored.queries.count());
  const bool apart = scored.gallery.defined();
  if (apart) {
    scored.gallery_labels =
        load_labels(options.gallery_labels, scored.gallery.count());
  }
  EvaluateOptions scoring = options.scoring;
  if (!options.clusters.empty()) {
    scoring.clusters = load_labels(
        options.clusters, (apart ? scored.gallery : scored.queries).count());
  }
  return evaluate(in_form(form, scored), metrics, scoring);
}

Decision decide_files(const ScoreFilesOptions& options, Scored scored,
                      c10::Device device) {
  const DecisionOptions wanted =
      decision_options(options.threshold, options.scoring);
  scored.query_labels = load_labels(options.labels, scored.queries.count());
  if (scored.gallery.defined()) {
    scored.gallery_labels =
        load_labels(options.gallery_labels, scored.gallery.count());
  }
  Decision decision;
  if (options.threshold_embeddings.empty()) {
    decision = decide(scored, nullptr, wanted);
    if (decision.is_same_set) decision.picked_on = options.embeddings;
  } else {
    Scored picked;
    picked.queries = unit_rows(options.threshold_embeddings,
                               options.scoring.memory_mb, device);
    picked.query_labels =
        load_labels(options.threshold_labels, picked.queries.count());
    decision = decide(scored, &picked, wanted);
    decision.picked_on = options.threshold_embeddings;
  }
  if (!options.threshold_out.empty() &&
      or_alone(options.scoring.ranks).is_first()) {
    make_folder_of(options.threshold_out);
    write_threshold_file(
        options.threshold_out,
        {decision.threshold, decision.wish.text(), decision.picked_on});
  }
  return decision;
}

/// The three settings of ROxford and RParis.
EvalResult score_revisited(const ScoreFilesOptions& options, Scored scored,
                           const std::vector<NamedMetric>& metrics,
                           const CompressedForm* form) {
  const GroundTruth truth = read_ground_truth(options.ground_truth);
  const auto queries = static_cast<int64_t>(truth.queries.size());
  const auto images = static_cast<int64_t>(truth.images.size());
  if (scored.queries.count() != queries || scored.gallery.count() < images) {
    throw DataError(options.ground_truth + ": " + std::to_string(queries) +
                    " queries and " + std::to_string(images) +
                    " images, but there are embeddings of " +
                    std::to_string(scored.queries.count()) + " and " +
                    std::to_string(scored.gallery.count()) +
                    "; rows must be in its order, distractors last");
  }
  scored = in_form(form, scored);
  EvalResult result;
  for (const char* setting : kRevisitedSettings) {
    scored.lists = revisited_lists(truth.truths, setting);
    add_part(setting, evaluate(scored, metrics, options.scoring), result);
  }
  return result;
}

EvalResult score_any(const ScoreFilesOptions& options, const Scored& scored,
                     const std::vector<NamedMetric>& metrics,
                     const CompressedForm* form = nullptr) {
  return options.ground_truth.empty()
             ? score_labels(options, scored, metrics, form)
             : score_revisited(options, scored, metrics, form);
}

/// As `scoring` says, in place of the options' own.
EvalResult score_scored(ScoreFilesOptions options, const Scored& scored,
                        const std::vector<NamedMetric>& metrics,
                        const EvaluateOptions& scoring) {
  options.scoring = scoring;
  const Timer timer;
  EvalResult result = score_any(options, scored, metrics);
  log_scoring(result, timer.seconds());
  return result;
}

/// Those that smaller vectors are learnt from.
Tensor vectors_to_learn_from(const ScoreFilesOptions& options, int64_t dim) {
  if (options.learn_from.empty()) {
    throw ConfigError(
        "option 'learn_from' is needed: embeddings of other images, for pca, "
        "int8, binary and pq learn from them (float16 and dim do without)");
  }
  const Rows rows =
      unit_rows(options.learn_from, options.scoring.memory_mb, at::kCPU);
  if (rows.dim() != dim) {
    throw DataError(options.learn_from + ": embeddings of size " +
                    std::to_string(rows.dim()) + ", those to score have " +
                    std::to_string(dim));
  }
  return rows_at(rows, draw_positions(rows.count(), kMostLearntFrom,
                                      options.scoring.seed));
}

void add_compressed_files(const ScoreFilesOptions& asked, const Scored& scored,
                          const std::vector<NamedMetric>& metrics,
                          EvalReport& report) {
  ScoreFilesOptions options = asked;
  options.scoring.by_query = false;
  const int64_t dim = scored.queries.dim();
  const CompressedTask task{
      dim, report.result, metrics,
      [&] { return vectors_to_learn_from(options, dim); },
      [&](const CompressedForm& form, const auto& of_rankings) {
        return score_any(options, scored, of_rankings, &form);
      }};
  CompressedScores scores = score_compressed(compressed_forms(options.compress),
                                             task, options.scoring);
  report.compressed = std::move(scores.results);
  report.learnt_from = scores.learnt_from;
}

}  // namespace

EvalReport score_files(const ScoreFilesOptions& options, c10::Device device) {
  check_together(options);
  check_threshold_files(options);
  const bool revisited = !options.ground_truth.empty();
  EvaluateOptions again = options.scoring;
  again.rerank = parse_rerank(options.rerank, "option 'rerank'");
  again.by_query = false;
  const std::vector<NamedMetric> metrics = parse_metrics(
      !options.metrics.empty()
          ? options.metrics
          : usual_metrics(revisited ? "revisited" : "standard", ""));
  const Scored scored = load_scored(options, device);
  EvalReport report{score_scored(options, scored, metrics, options.scoring)};
  if (!again.rerank.empty()) {
    report.reranked = score_scored(options, scored, metrics, again);
  }
  if (!options.threshold.wish.empty()) {
    report.decision = decide_files(options, scored, device);
  }
  report.resamples = options.scoring.bootstrap;
  report.seed = static_cast<int64_t>(options.scoring.seed);
  report.by_class = options.scoring.by_query;
  if (!options.compress.empty()) {
    add_compressed_files(options, scored, metrics, report);
  }
  return report;
}

}  // namespace kith
