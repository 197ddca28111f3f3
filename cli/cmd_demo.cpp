#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/metrics_report.h"
#include "cli/usage.h"
#include "kith/core/file_lock.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/data/write_set.h"
#include "kith/report/make_report.h"
#include "kith/run/choose_checkpoint.h"
#include "kith/run/detail/eval_metrics_json.h"
#include "kith/run/previous_checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/train/experiment.h"
#include "kith/use/embed_images.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

struct DemoFlags {
  std::string out = "kith-demo";
  int64_t seed = 0;
  std::vector<std::string> overrides;
  bool json = false;
  DeviceFlags device;
};

/// Writes the images on the first run; a second run finds them.
void make_demo_data(const std::string& folder) {
  if (path_exists(folder + "/dataset.csv")) {
    log_info("data: using the images in " + folder);
    return;
  }
  log_info("data: drawing 400 characters, 20 times each, into " + folder);
  const auto glyphs = make_data_set(parse_config("{name: glyphs}", "demo"));
  write_data_set(*glyphs, folder, progress_bar());
}

/// Removes what an earlier demo left in its run folder, and what was measured
/// of that run; nothing else.
void clear_run(const std::string& folder) {
  const FolderLock lock(folder, "kith demo");
  const RunFolder run(folder);
  for (const std::string& file :
       {run.checkpoint(), previous_checkpoint(run.checkpoint()),
        run.checkpoint("best"), run.log(), run.metrics(), run.config()}) {
    remove_file(file);
  }
  for (const std::string& file : run.eval_files()) remove_file(file);
  for (const int64_t epoch : run.kept_epochs()) {
    remove_file(run.checkpoint(epoch));
  }
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with("events.out.tfevents.")) {
      remove_file(fs::path(folder) / name);
    }
  }
}

/// The recipe on the images in `data`, evaluated before training, every third
/// epoch (for the curve) and after it.
RunConfig demo_config(const DemoFlags& flags, const std::string& data) {
  ConfigNode user = parse_config(kDemoRecipe, "recipes/glyphs.yaml");
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text("csv"));
  section.set("path", ConfigNode::text(data));
  user.set("data", section);
  apply_override(user, "train.seed=" + std::to_string(flags.seed));
  apply_override(user, "eval.every=3");
  for (const std::string& text : flags.overrides) {
    apply_override(user, text, "--set");
  }
  apply_override(user, "eval.before=true");
  return complete_config(user);
}

/// `program` with the plug-ins that it was started with.
std::string with_plugins(const std::string& program) {
  std::string text = program;
  for (const std::string& file : loaded_plugins()) {
    text += " --plugin " + shell_word(file);
  }
  return text;
}

/// What to type to get this page again.
std::string command_line(const DemoFlags& flags) {
  std::string text = with_plugins("kith") + " demo --out " +
                     shell_word(flags.out) + " --seed " +
                     std::to_string(flags.seed);
  for (const std::string& assignment : flags.overrides) {
    text += " --set " + shell_word(assignment);
  }
  return text;
}

EvalResult train_demo(const DemoFlags& flags, const std::string& run,
                      c10::Device device) {
  const std::string data_folder = flags.out + "/data";
  const RunConfig config = demo_config(flags, data_folder);
  make_demo_data(data_folder);
  clear_run(run);
  log_info("training on 200 characters with " +
           config.section("loss").find("name")->scalar +
           ", testing on 200 others");
  return train_experiment(config, run, device, /*resume=*/false,
                          progress_bar());
}

Report make_demo_report(const DemoFlags& flags, const std::string& run,
                        c10::Device device) {
  return make_report({.runs = {run},
                      .title = "kith demo",
                      .made_by = std::string("kith ") + kVersion + " with " +
                                 command_line(flags),
                      .insight = {.seed = static_cast<uint64_t>(flags.seed)}},
                     device, progress_bar());
}

/// What the network gave before training, as the run's log has it.
MetricColumn untrained_column(const RunRecord& run) {
  MetricColumn column{"untrained", {}, ""};
  for (const RecordedMetric& metric : run.metrics) {
    if (metric.before) column.values[metric.name] = *metric.before;
  }
  return column;
}

/// The protocol and the definitions of both are the same.
nlohmann::ordered_json demo_json(const EvalReport& report,
                                 const MetricColumn& untrained) {
  const EvalResult& trained = report.result;
  nlohmann::ordered_json after = json_of(report);
  nlohmann::ordered_json before = after;
  for (const MetricValue& metric : trained.metrics) {
    const auto found = untrained.values.find(metric.name);
    before[metric.name] = found == untrained.values.end()
                              ? nlohmann::ordered_json()
                              : nlohmann::ordered_json(found->second);
  }
  return {{"untrained", before}, {"trained", after}};
}

/// This program, as it can be called from here: by a relative path if it lies
/// below the current folder.
std::string program_path() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return "kith";
  const fs::path near = fs::proximate(program, failed);
  const bool below = !failed && !near.empty() && *near.begin() != "..";
  if (!below) return program.string();
  return near.has_parent_path() ? near.string() : "./" + near.string();
}

/// What to type to search in an index of the demo: with a page in a browser, or
/// where that was not built for one of the pictures.
std::string search_command(const DemoFlags& flags, const std::string& run,
                           const std::string& index) {
  if (kCanServe) {
    return " serve --model " + shell_word(run) + " --index " + index;
  }
  const auto data = data_from_path(flags.out + "/data");
  return " search --index " + index + " --image " +
         shell_word(data->list().items.back().path) + " --html " +
         shell_word(flags.out + "/found.html");
}

/// What to type to search with the network: first an index, then the search.
std::vector<std::string> next_commands(const DemoFlags& flags,
                                       const std::string& run) {
  const std::string program = with_plugins(shell_word(program_path()));
  const std::string file = flags.out + "/index.faiss";
  const std::string index = shell_word(file);
  return {program + " index " + shell_word(run) + " --out " + index +
              (path_exists(file) ? " --overwrite" : ""),
          program + search_command(flags, run, index)};
}

void run_demo(const DemoFlags& flags) {
  const c10::Device device = flags.device.apply();
  const std::string run = flags.out + "/run";
  const EvalResult trained = train_demo(flags, run, device);
  const Report report = make_demo_report(flags, run, device);
  const std::string page = flags.out + "/report.html";
  write_report(report, page);
  const RunRecord& record = report.runs.front();
  const MetricColumn untrained = untrained_column(record);
  const EvalReport evaluated{trained, record.protocol, record.split,
                             choose_checkpoint(run)};
  if (flags.json) {
    nlohmann::ordered_json json = demo_json(evaluated, untrained);
    json["run"] = run;
    json["report"] = page;
    json["next"] = next_commands(flags, run);
    print_json(json);
    return;
  }
  print_line(evaluated_text(evaluated));
  print_metrics(trained, {untrained});
  print_line("Look at it: " + full_path(page).lexically_normal().string());
  print_line(kCanServe ? "Search with it, in a browser:" : "Search with it:");
  for (const std::string& command : next_commands(flags, run)) {
    print_line("  " + command);
  }
}

}  // namespace

void add_demo(CLI::App& app) {
  auto* command = app.add_subcommand(
      "demo",
      "Make data, train, evaluate and show the result: a minute on two cores");
  auto flags = std::make_shared<DemoFlags>();
  command->add_option("--out", flags->out, "The folder for everything")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of the training")
      ->check(integer(0))
      ->capture_default_str();
  command
      ->add_option("--set", flags->overrides,
                   "Overrides a key of the recipe, such as train.epochs=3")
      ->allow_extra_args(false);
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->callback([flags] { run_demo(*flags); });
}

}  // namespace kith
