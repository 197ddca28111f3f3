#include "kith/use/score_files.h"

#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "kith/data/ground_truth.h"
#include "kith/eval/protocol.h"
#include "kith/eval/revisited.h"
#include "kith/index/recall.h"
#include "kith/io/tensor_io.h"
#include "kith/use/evaluate_run.h"
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
  report.resamples = options.scoring.bootstrap;
  report.seed = static_cast<int64_t>(options.scoring.seed);
  report.by_class = options.scoring.by_query;
  if (!options.compress.empty()) {
    add_compressed_files(options, scored, metrics, report);
  }
  return report;
}

}  // namespace kith
