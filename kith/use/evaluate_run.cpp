#include "kith/use/evaluate_run.h"

#include <filesystem>
#include <optional>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/memory.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/timer.h"
#include "kith/data/check.h"
#include "kith/eval/diagnose_split.h"
#include "kith/eval/evaluator.h"
#include "kith/image/encode.h"
#include "kith/index/tell_others.h"
#include "kith/models/weights_hash.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_place.h"
#include "kith/run/threshold_file.h"
#include "kith/train/run_config.h"
#include "kith/use/files.h"
#include "kith/use/score_compressed.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// The run's configuration, in which other data is described by a
/// configuration of its own: its `eval` is laid over the run's, and published
/// numbers are its own. Metrics and numbers of the run are not for other data.
ConfigNode with_data(const std::string& data, ConfigNode config) {
  if (data.empty()) return config;
  config.set("published", ConfigNode());
  if (ConfigNode* section = config.find("eval")) {
    std::erase_if(section->entries,
                  [](const auto& entry) { return entry.first == "metrics"; });
  }
  if (!data.ends_with(".yaml") && !data.ends_with(".yml")) return config;
  const ConfigNode other = load_config(data);
  for (const char* key : {"eval", "published"}) {
    const ConfigNode* section = other.find(key);
    if (section == nullptr) continue;
    ConfigNode over = ConfigNode::map();
    over.set(key, *section);
    merge_config(config, over);
  }
  return config;
}

/// The run's own evaluation options with those that are asked for laid over.
EvalOptions eval_options(const EvaluateRunOptions& asked,
                         const ConfigNode& config,
                         const std::string& data_set) {
  EvalOptions options;
  if (const ConfigNode* section = config.find("eval")) {
    options = read_options<EvalOptions>(*section, "eval");
  }
  // Metrics of the run are for its own protocol.
  if (!asked.protocol.empty() && asked.protocol != options.protocol) {
    options.protocol = asked.protocol;
    options.metrics.clear();
  }
  if (!asked.split.empty()) options.split = asked.split;
  if (!asked.metrics.empty()) options.metrics = asked.metrics;
  if (!asked.rerank.empty()) options.rerank = asked.rerank;
  if (options.metrics.empty()) {
    options.metrics = usual_metrics(options.protocol, data_set);
  }
  asked.descriptor.apply(options.descriptor);
  return options;
}

/// RUN/eval, or a folder beside a checkpoint that is in no run.
std::string evals_folder(const std::string& model) {
  if (is_folder(model)) return RunFolder::of(model).eval();
  if (const auto run = RunFolder::of_checkpoint(model)) return run->eval();
  const fs::path path = full_path(model);
  return (path.parent_path() / (path.stem().string() + "-eval")).string();
}

std::string model_name(const std::string& model) {
  fs::path path = full_path(model).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // "run/"
  if (is_folder(path)) return path.filename().string();
  const auto run = RunFolder::of_checkpoint(path.string());
  if (!run) return path.stem().string();
  return fs::path(run->path()).filename().string();
}

/// What is evaluated: the network, and where it came from.
struct Evaluated {
  LoadedModel model;
  ChosenCheckpoint checkpoint;
  std::string name;   ///< For tables.
  std::string evals;  ///< The folder for folders of evaluations.
};

Evaluated load_evaluated(const EvaluateRunOptions& asked, c10::Device device) {
  Evaluated found;
  if (asked.published.weights.empty() && asked.published.backbone.empty()) {
    found.checkpoint = choose_checkpoint(asked.model, asked.checkpoint);
    found.model = load_model(found.checkpoint.file, device);
    follow_run(found.model.config, asked.model);
    found.name = model_name(asked.model);
    found.evals = evals_folder(asked.model);
    return found;
  }
  if (!asked.checkpoint.empty()) {
    throw ConfigError(
        "option 'checkpoint' chooses one of a run's folder, and published "
        "weights are of no run: leave it out");
  }
  if (asked.data.empty()) {
    throw ConfigError(
        "option 'data' is needed: a published network has no data of its own");
  }
  found.model = load_published_model(asked.published, device);
  found.checkpoint.file = asked.published.weights;
  found.name =
      found.model.config.find("model")->find("backbone")->find("name")->scalar;
  found.evals = found.name + "-eval";
  return found;
}

void add_published(const ConfigNode& config, EvalReport& report) {
  const ConfigNode* section = config.find("published");
  if (section == nullptr || !section->is_map()) return;
  for (const auto& [name, value] : section->entries) {
    if (name == "source") {
      report.published_source = value.scalar;
    } else {
      report.published[name] = std::stod(value.scalar) / 100;
    }
  }
}

/// One evaluation of a model: its parts, in the order they are used.
struct RunEvaluation {
  const EvaluateRunOptions& asked;
  const LoadedModel& model;
  const DataSet& data;
  const Evaluator& evaluator;
  RerankSteps rerank;
  const EvaluatorOptions& options;  ///< Of the evaluator.
};

std::vector<CorruptedResult> score_corrupted(const RunEvaluation& evaluation,
                                             Progress& progress) {
  std::vector<CorruptedResult> results;
  EmbedOptions embed = evaluation.evaluator.embedding();
  EvaluateOptions scoring = evaluation.asked.scoring;
  scoring.by_query = false;
  for (const NamedCorruption& corruption : evaluation.asked.corruptions) {
    log_info("corruption " + corruption.name);
    embed.change = change_of(corruption, scoring.seed);
    results.push_back(
        {corruption.name,
         evaluation.evaluator.score(
             evaluation.evaluator.embed(*evaluation.model.net, embed, progress),
             scoring)});
  }
  return results;
}

EvalResult score_reranked(const RunEvaluation& evaluation,
                          const EmbeddedSplit& embedded) {
  EvaluateOptions scoring = evaluation.asked.scoring;
  scoring.by_query = false;
  scoring.rerank = evaluation.rerank;
  const Timer timer;
  EvalResult result = evaluation.evaluator.score(embedded, scoring);
  log_scoring(result, timer.seconds());
  return result;
}

/// What is found in galleries of smaller vectors.
void add_compressed(const RunEvaluation& evaluation,
                    const EmbeddedSplit& embedded, EvalReport& report,
                    Progress& progress) {
  EvaluateOptions scoring = evaluation.asked.scoring;
  scoring.by_query = false;
  const CompressedTask task{
      embedded.embeddings.size(1), report.result,
      evaluation.evaluator.metrics(),
      [&] {
        return training_vectors(*evaluation.model.net, evaluation.data,
                                evaluation.evaluator.embedding(), scoring.seed,
                                progress);
      },
      [&](const CompressedForm& form, const auto& metrics) {
        return evaluate_split(form.apply(embedded), metrics, scoring);
      }};
  CompressedScores scores = score_compressed(
      compressed_forms(evaluation.asked.compress), task, scoring);
  report.compressed = std::move(scores.results);
  report.learnt_from = scores.learnt_from;
}

/// What is wanted otherwise than the run says: "scales 1 0.7, flip".
std::string descriptor_text(const DescriptorChoice& choice) {
  std::vector<std::string> words;
  if (!choice.scales.empty()) {
    std::string& text = words.emplace_back("scales");
    for (const double scale : choice.scales) {
      text += " " + format_general(scale, 6);
    }
  }
  if (choice.long_side) {
    words.push_back("long side " + std::to_string(*choice.long_side));
  }
  if (choice.flip) words.emplace_back("flip");
  if (choice.dim) {
    words.push_back("first " + std::to_string(*choice.dim) + " numbers");
  }
  const WhiteningChoice& whitening = choice.whitening;
  if (!whitening.file.empty()) {
    words.push_back("whitened by " + fs::path(whitening.file).string());
  } else if (whitening.learn) {
    words.push_back(
        std::string("whitened") + (whitening.from_pairs ? " from pairs" : "") +
        (whitening.dim == 0 ? std::string()
                            : " to " + std::to_string(whitening.dim)));
  }
  return join(words);
}

/// Before any work is done.
void check_threshold(const EvaluateRunOptions& asked) {
  const std::string& wish = asked.threshold.wish;
  const bool is_rate = !wish.empty() && ThresholdWish::parse(wish).is_rate();
  if (asked.threshold_split.empty() || is_rate) return;
  throw ConfigError(
      "option 'threshold_split' goes with a rate in option 'threshold', as "
      "far=0.001, for which one is picked; leave it out");
}

/// The split on which a threshold is picked; none: the one that is reported.
std::optional<Split> pick_split(const EvaluateRunOptions& asked, Split split) {
  if (asked.threshold.wish.empty() || asked.threshold_split.empty()) return {};
  const Split picked =
      parse_split(asked.threshold_split, "option 'threshold_split'");
  return picked == split ? std::optional<Split>() : picked;
}

/// What is searched among what. ConfigError for a protocol of several parts,
/// each of which would have a threshold of its own.
Scored scored_for_threshold(const EmbeddedSplit& split,
                            const std::string& protocol) {
  if (split.tasks.size() != 1) {
    throw ConfigError("option 'threshold' is for protocols of one part, and '" +
                      protocol + "' has " + std::to_string(split.tasks.size()) +
                      ": use option 'protocol', standard");
  }
  return split.scored(split.tasks[0]);
}

Decision decide_split(const RunEvaluation& evaluation,
                      const EmbeddedSplit& embedded, Progress& progress) {
  const EvaluateRunOptions& asked = evaluation.asked;
  const std::string& protocol = evaluation.options.protocol;
  const DecisionOptions options = decision_options(
      asked.threshold, asked.scoring, &evaluation.data.list().class_names);
  const Scored reported = scored_for_threshold(embedded, protocol);
  const auto split = pick_split(asked, evaluation.evaluator.split());
  Decision decision;
  if (split) {
    EvaluatorOptions other = evaluation.options;
    other.split = split_name(*split);
    const Evaluator evaluator(evaluation.data, other);
    log_info("the threshold is picked on the " + other.split + " split");
    const EmbeddedSplit picked =
        evaluator.embed(*evaluation.model.net, progress);
    const Scored scored = scored_for_threshold(picked, protocol);
    decision = decide(reported, &scored, options);
    decision.picked_on = "the " + other.split + " split";
    return decision;
  }
  decision = decide(reported, nullptr, options);
  if (decision.is_same_set) {
    decision.picked_on = std::string("the ") +
                         split_name(evaluation.evaluator.split()) + " split";
  }
  return decision;
}

void write_threshold(const RunEvaluation& evaluation, const EvaluatedRun& run) {
  const EvalReport& report = run.report;
  const std::string& model = evaluation.asked.model;
  ThresholdFile file;
  file.threshold = report.decision->threshold;
  file.wanted = report.decision->wish.text();
  file.picked_on = report.decision->picked_on;
  file.model = absolute_path(model.empty() ? report.checkpoint.file : model);
  file.model_hash = weights_hash(evaluation.model.net->state());
  file.checkpoint =
      report.checkpoint.name.empty() ? "" : report.checkpoint.text();
  file.descriptor = report.descriptor;
  write_threshold_file(run.folder + "/threshold.json", file);
}

/// Scores and writes everything; what `run` says already stays.
void score(const RunEvaluation& evaluation, EvaluatedRun& run,
           Progress& progress) {
  const EvaluateRunOptions& asked = evaluation.asked;
  const std::string& folder = run.folder;
  const bool writes = or_alone(asked.ranks).is_first();
  EmbedTimes times;
  EmbedOptions embed = evaluation.evaluator.embedding();
  embed.times = &times;
  const EmbeddedSplit embedded =
      evaluation.evaluator.embed(*evaluation.model.net, embed, progress);
  log_info("embedded " + times.text());
  const Timer timer;
  EvalReport& report = run.report;
  report.result = evaluation.evaluator.score(embedded);
  log_scoring(report.result, timer.seconds());
  if (!evaluation.rerank.empty()) {
    report.reranked = score_reranked(evaluation, embedded);
  }
  report.resamples = asked.scoring.bootstrap;
  report.seed = static_cast<int64_t>(asked.scoring.seed);
  report.by_class = asked.scoring.by_query;
  report.class_names = &evaluation.data.list().class_names;
  add_published(evaluation.model.config, report);
  report.left_out = evaluation.data.left_out();
  if (!asked.corruptions.empty()) {
    report.corrupted = score_corrupted(evaluation, progress);
  }
  if (!asked.compress.empty()) {
    add_compressed(evaluation, embedded, report, progress);
  }
  if (!asked.threshold.wish.empty()) {
    report.decision = decide_split(evaluation, embedded, progress);
  }
  if (writes && !asked.corruptions.empty()) {
    write_png(folder + "/corruptions.png",
              corruption_examples(evaluation.data, embedded.rows_of,
                                  evaluation.model.net->input(),
                                  asked.corruptions, asked.scoring.seed));
  }
  if (writes) {
    run.json = write_eval_metrics(folder + "/metrics.json", report);
    if (report.decision) write_threshold(evaluation, run);
  }
  report.class_names = nullptr;     // they go with the data
  or_alone(asked.ranks).barrier();  // the others need not wait for the rest
  if (writes && asked.diagnostics) {
    write_file_atomically(
        folder + "/diagnostics.json",
        diagnose_split(embedded, evaluation.data,
                       {asked.scoring.memory_mb, worker_count(0)}, progress) +
            "\n");
  }
}

EvaluatedRun evaluate_together(const EvaluateRunOptions& asked,
                               c10::Device device, Progress& progress) {
  // Twice the same bytes: no choice of algorithms by how long they take.
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  Evaluated evaluated = load_evaluated(asked, device);
  LoadedModel& model = evaluated.model;
  EvaluatedRun run;
  run.name = evaluated.name;
  run.report.checkpoint = evaluated.checkpoint;
  model.config = with_data(asked.data, std::move(model.config));
  const ConfigNode* section = model.config.find("data");
  if (asked.data.empty() && section == nullptr) {
    throw DataError(asked.model +
                    ": no data section in the checkpoint; give option 'data'");
  }
  const EvalOptions options = eval_options(
      asked, model.config,
      asked.data.empty() ? section->find("name")->scalar : std::string());
  parse_metrics(options.metrics);  // before the data is read
  const RerankSteps rerank = parse_rerank(options.rerank, "option 'rerank'");
  const WhiteningChoice& whitening_choice = asked.descriptor.whitening;
  const bool is_whole =
      !whitening_choice.learn && whitening_choice.file.empty();
  for (const CompressedForm& form : compressed_forms(asked.compress)) {
    // A whitening decides otherwise, once it is there.
    if (is_whole) form.bytes(options.descriptor.dim_of(model.net->dim()));
  }
  check_threshold(asked);
  protocol_registry().at(options.protocol, "option 'protocol'");
  const std::unique_ptr<DataSet> data =
      asked.data.empty() ? make_data_set(run_data(model.config))
                         : data_from_path(asked.data);
  set_on_broken(*data, asked.on_broken);
  std::optional<Split> needed;
  const Split split = eval_split(options, data->list());
  if (!asked.descriptor.whitening.learn && !asked.diagnostics &&
      asked.compress.empty() && !pick_split(asked, split)) {
    needed = split;
  }
  leave_out_broken(*data, worker_count(0), progress, needed);
  EvaluatorOptions evaluation = evaluator_options(options, /*workers=*/0);
  EmbedOptions& embed = evaluation.embed;
  embed.network = run.report.checkpoint.file;
  tell_cut(*model.net, embed.descriptor);
  embed.ranks = asked.ranks;
  const std::optional<Whitening> whitening = make_whitening(
      asked.descriptor.whitening, *model.net, *data, embed, progress);
  if (whitening) embed.whitening = &*whitening;

  evaluation.scoring = asked.scoring;
  // Diagnostics are made of all of them, and so is another order.
  if (!asked.diagnostics && rerank.empty())
    evaluation.share_above_mb = asked.scoring.memory_mb;
  const Evaluator evaluator(*data, evaluation);
  run.report.protocol = options.protocol;
  run.report.split = split_name(evaluator.split());
  run.report.data = asked.data;
  run.report.descriptor = descriptor_text(asked.descriptor);
  run.folder = asked.out.empty()
                   ? evaluated.evals + "/" + eval_folder_name(run.report)
                   : asked.out;
  if (or_alone(asked.ranks).is_first()) {
    make_folders(run.folder);
    if (data->skips_broken()) {
      write_left_out(RunFolder(run.folder).left_out(), data->left_out());
    }
    if (whitening) whitening->save(run.folder + "/whitening.safetensors");
  }
  score({asked, model, *data, evaluator, rerank, evaluation}, run, progress);
  return run;
}

}  // namespace

EvaluatedRun evaluate_run(const EvaluateRunOptions& asked, c10::Device device,
                          Progress& progress) {
  EvaluateRunOptions together = asked;
  together.scoring.ranks = asked.ranks;
  return telling(or_alone(asked.ranks),
                 [&] { return evaluate_together(together, device, progress); });
}

void log_scoring(const EvalResult& result, double seconds) {
  int64_t queries = 0;
  for (const EvalPart& part : result.parts) queries += part.queries;
  log_info("scored " + std::to_string(queries) + " queries in " +
           format_fixed(seconds, 2) + " s; peak memory of the process " +
           std::to_string(peak_resident_bytes().value_or(0) >> 20) + " MB");
}

}  // namespace kith
