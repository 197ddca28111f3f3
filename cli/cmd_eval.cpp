#include <cstdio>
#include <filesystem>

#include <torch/torch.h>

#include "cli/common.h"
#include "cli/descriptor_flags.h"
#include "cli/metrics_table.h"
#include "cli/score_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json_text.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/eval/corruption_suite.h"
#include "kith/eval/diagnose_split.h"
#include "kith/eval/embedded_split.h"
#include "kith/image/encode.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_place.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

struct EvalFlags {
  std::string model;
  std::string data;
  std::string protocol;
  std::string split;
  std::string corruptions;
  std::string out;
  bool diagnostics = false;
  DescriptorFlags descriptor;
  ScoreFlags score;
  DeviceFlags device;
};

bool is_configuration(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

/// The run's configuration, in which other data is described by the
/// configuration of --data: its `eval` is laid over the run's, and published
/// numbers are its own. Metrics and numbers of the run are not for other data.
ConfigNode with_data(const EvalFlags& flags, ConfigNode config) {
  if (flags.data.empty()) return config;
  config.set("published", ConfigNode());
  if (ConfigNode* section = config.find("eval")) {
    std::erase_if(section->entries,
                  [](const auto& entry) { return entry.first == "metrics"; });
  }
  if (!is_configuration(flags.data)) return config;
  const ConfigNode other = load_config(flags.data);
  for (const char* key : {"eval", "published"}) {
    const ConfigNode* section = other.find(key);
    if (section == nullptr) continue;
    ConfigNode over = ConfigNode::map();
    over.set(key, *section);
    merge_config(config, over);
  }
  return config;
}

/// The run's own evaluation options with the command line's laid over.
EvalOptions eval_options(const EvalFlags& flags, const ConfigNode& config,
                         const std::string& data_set) {
  EvalOptions options;
  if (const ConfigNode* section = config.find("eval")) {
    options = read_options<EvalOptions>(*section, "eval");
  }
  // Metrics of the run are for its own protocol.
  if (!flags.protocol.empty() && flags.protocol != options.protocol) {
    options.protocol = flags.protocol;
    options.metrics.clear();
  }
  if (!flags.split.empty()) options.split = flags.split;
  if (!flags.score.metrics.empty()) {
    options.metrics = split_metric_list(flags.score.metrics);
  }
  if (options.metrics.empty()) {
    options.metrics = usual_metrics(options.protocol, data_set);
  }
  flags.descriptor.choice().apply(options.descriptor);
  return options;
}

/// Where results go unless --out says otherwise: RUN/eval, or beside a
/// checkpoint that is in no run.
std::string default_folder(const std::string& model) {
  const fs::path path(model);
  if (fs::is_directory(path)) return (path / "eval").string();
  const fs::path folder = fs::absolute(path).parent_path();
  if (folder.filename() == "checkpoints") {
    return (folder.parent_path() / "eval").string();
  }
  return (folder / (path.stem().string() + "-eval")).string();
}

/// One evaluation of a model: its parts, in the order they are used.
struct Evaluation {
  const EvalFlags& flags;
  const LoadedModel& model;
  const DataSet& data;
  const Protocol& protocol;
  const EvalOptions& options;
  Split split;
  EmbedOptions embed;
  std::vector<NamedMetric> metrics;
};

/// Those of --corruptions: all, or a list with commas.
std::vector<NamedCorruption> corruptions_of(const std::string& text) {
  if (text == "all") return published_corruptions();
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return published_corruptions(names);
}

std::vector<CorruptedResult> score_corrupted(const Evaluation& evaluation) {
  std::vector<CorruptedResult> results;
  EmbedOptions embed = evaluation.embed;
  EvaluateOptions options = evaluation.flags.score.options();
  options.by_query = false;
  for (const NamedCorruption& corruption :
       corruptions_of(evaluation.flags.corruptions)) {
    log_info("corruption " + corruption.name);
    embed.change = change_of(corruption, options.seed);
    const EmbeddedSplit embedded =
        embed_split(*evaluation.model.net, evaluation.data, evaluation.split,
                    evaluation.protocol, embed, progress_bar());
    results.push_back({corruption.name,
                       evaluate_split(embedded, evaluation.metrics, options)});
  }
  return results;
}

/// What a table calls a model: its run's folder, or its file.
std::string model_name(const std::string& model) {
  fs::path path = fs::absolute(model).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // "run/"
  if (fs::is_directory(path)) return path.filename().string();
  const fs::path folder = path.parent_path();
  if (folder.filename() != "checkpoints") return path.stem().string();
  return folder.parent_path().filename().string();
}

/// What was found, for people.
void print_scores(const std::string& protocol, const ScoredModel& scored,
                  const std::string& folder) {
  print_line(protocol);
  print_metrics(scored.result, scored.published);
  print_definitions(scored.result);
  if (scored.corrupted.empty()) return;
  print_corruptions(scored.result, scored.corrupted);
  std::string columns = "the image";
  for (const CorruptedResult& one : scored.corrupted) {
    columns += ", " + one.corruption;
  }
  print_line(folder + "/corruptions.png, from the left: " + columns);
}

/// Scores, prints and writes everything.
void score(const Evaluation& evaluation, const EmbeddedSplit& embedded,
           const std::string& folder) {
  const EvalFlags& flags = evaluation.flags;
  const Timer timer;
  const EvalResult result =
      evaluate_split(embedded, evaluation.metrics, flags.score.options());
  log_scoring(result, timer.seconds());
  EvalReport report = flags.score.report(result);
  report.protocol = evaluation.options.protocol;
  report.split = split_name(evaluation.split);
  report.class_names = &evaluation.data.list().class_names;
  const std::vector<MetricColumn> published =
      published_column(evaluation.model.config);
  for (const MetricColumn& column : published) {
    report.published = column.values;
    report.published_source = column.source;
  }
  if (!flags.corruptions.empty()) {
    report.corrupted = score_corrupted(evaluation);
    write_png(folder + "/corruptions.png",
              corruption_examples(evaluation.data, embedded.rows_of,
                                  evaluation.model.net->input(),
                                  corruptions_of(flags.corruptions),
                                  static_cast<uint64_t>(flags.score.seed)));
  }
  write_eval_metrics(folder + "/metrics.json", report);
  if (flags.diagnostics) {
    write_file_atomically(
        folder + "/diagnostics.json",
        diagnose_split(embedded, evaluation.data,
                       {flags.score.memory_mb, worker_count(0)},
                       progress_bar()) +
            "\n");
  }
  if (flags.score.json) {
    std::printf("%s", eval_metrics_json(report).c_str());
    return;
  }
  const std::string written = "written: " + folder + "/metrics.json" +
                              (flags.diagnostics ? ", diagnostics.json" : "");
  const ScoredModel scored{model_name(flags.model), result, published,
                           report.corrupted};
  if (flags.score.format != "table") {
    print_text(metrics_table(flags.score.format, scored));
    log_info(written);  // what is printed can be pasted as it is
    return;
  }
  print_scores("protocol " + report.protocol + ", " + report.split + " split",
               scored, folder);
  print_line(written);
}

void run_eval(const EvalFlags& flags) {
  const c10::Device device = flags.device.apply();
  // Twice the same bytes: no choice of algorithms by how long they take.
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  LoadedModel model = load_model(flags.model, device);
  follow_run(model.config, flags.model);
  model.config = with_data(flags, std::move(model.config));
  const ConfigNode* section = model.config.find("data");
  if (flags.data.empty() && section == nullptr) {
    throw DataError(flags.model +
                    ": no data section in the checkpoint; give "
                    "--data");
  }
  const EvalOptions options = eval_options(
      flags, model.config,
      flags.data.empty() ? section->find("name")->scalar : std::string());
  std::vector<NamedMetric> metrics = parse_metrics(options.metrics);
  if (!flags.corruptions.empty()) corruptions_of(flags.corruptions);
  const std::unique_ptr<Protocol> protocol =
      protocol_registry()
          .at(options.protocol, "--protocol")
          .make(ConfigNode::map(), "protocol");
  const std::unique_ptr<DataSet> data =
      flags.data.empty() ? make_data_set(run_data(model.config))
                         : data_from_path(flags.data);
  EmbedOptions embed{options.batch, {worker_count(0), 2}};
  embed.descriptor = options.descriptor;
  embed.network = find_checkpoint(flags.model);
  const std::optional<Whitening> whitening =
      make_whitening(flags.descriptor.choice().whitening, *model.net, *data,
                     embed, progress_bar());
  if (whitening) embed.whitening = &*whitening;

  const std::string folder =
      flags.out.empty() ? default_folder(flags.model) : flags.out;
  fs::create_directories(folder);
  if (whitening) whitening->save(folder + "/whitening.safetensors");
  const Evaluation evaluation{flags,   model,
                              *data,   *protocol,
                              options, eval_split(options, data->list()),
                              embed,   std::move(metrics)};
  const EmbeddedSplit embedded = embed_split(
      *model.net, *data, evaluation.split, *protocol, embed, progress_bar());
  score(evaluation, embedded, folder);
}

}  // namespace

void add_eval(CLI::App& app) {
  auto* command = app.add_subcommand(
      "eval", "Evaluate a trained model: every metric, with its protocol");
  auto flags = std::make_shared<EvalFlags>();
  command
      ->add_option("model", flags->model,
                   "A run's folder, a checkpoint (.safetensors) or an export")
      ->required();
  command->add_option("--data", flags->data,
                      "A configuration (its `eval` and `published` count "
                      "too), a list or an image folder; default: the run's own "
                      "data");
  command->add_option("--protocol", flags->protocol,
                      "See: kith list protocols; default: the run's");
  command->add_option("--split", flags->split, "Default: the run's")
      ->check(one_of({"train", "validation", "test"}));
  command
      ->add_option("--corruptions", flags->corruptions,
                   "Also score corrupted images: all, or names with commas "
                   "(see: kith list corruptions); writes corruptions.png")
      ->expected(0, 1)
      ->default_str("all");
  command->add_flag("--diagnostics", flags->diagnostics,
                    "Also write diagnostics.json: hardest queries, confused "
                    "classes, hubs, near duplicates of training images");
  command->add_option("--out", flags->out,
                      "Folder of metrics.json; default: RUN/eval");
  flags->descriptor.add_to(*command);
  flags->score.add_to(*command, "the run's, or the protocol's usual ones");
  flags->device.add_to(*command);
  command->callback([flags] { run_eval(*flags); });
}

}  // namespace kith
