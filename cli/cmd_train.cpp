#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "cli/common.h"
#include "cli/dry_run.h"
#include "cli/metrics_report.h"
#include "cli/rank_flags.h"
#include "cli/stop_signals.h"
#include "cli/this_rank.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/check.h"
#include "kith/run/choose_checkpoint.h"
#include "kith/run/detail/eval_metrics_json.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/run/run_place.h"
#include "kith/study/results.h"
#include "kith/train/experiment.h"
#include "kith/train/pretrained_defaults.h"
#include "kith/train/told_defaults.h"

namespace kith {
namespace {

struct TrainFlags {
  std::string config;
  std::string out;
  std::vector<std::string> overrides;
  int64_t seed = -1;
  bool resume = false;
  bool allow_lr = false;
  bool print_config = false;
  bool dry_run = false;
  bool json = false;
  DeviceFlags device;
  RankFlags ranks;
};

/// A run that goes on has its relative paths from where it was started.
void find_start(const RunFolder& run, ConfigNode& user) {
  for (const std::string& file : {run.config(), run.selection().config()}) {
    if (!path_exists(file)) continue;
    const ConfigNode begun = load_config(file);
    const ConfigNode* started = begun.find("started");
    if (started != nullptr) user.set("started", *started);
    keep_begun_defaults(begun, user);
    follow_run(user, file);
    return;
  }
}

RunConfig read_config(const TrainFlags& flags) {
  if (flags.allow_lr && !flags.resume) {
    throw ConfigError("--allow-lr goes with --resume");
  }
  std::string path = flags.config;
  if (path.empty()) {
    if (!flags.resume || flags.out.empty()) {
      throw ConfigError(
          "give a configuration: kith train CONFIG.yaml (only "
          "--resume --out DIR can do without)");
    }
    const RunFolder run(flags.out);
    path = run.config();
    // Killed before the run that follows a selection began.
    const std::string selection = run.selection().config();
    if (!path_exists(path) && path_exists(selection)) {
      path = selection;
    }
  }
  ConfigNode user = load_with_overrides(path, flags.overrides);
  if (flags.resume && !flags.out.empty())
    find_start(RunFolder(flags.out), user);
  if (flags.seed >= 0) {
    apply_override(user, "train.seed=" + std::to_string(flags.seed));
  }
  return complete_config(user);
}

/// "runs/<name of the configuration>" unless --out says otherwise.
std::string run_folder(const TrainFlags& flags) {
  if (!flags.out.empty()) return flags.out;
  return "runs/" + std::filesystem::path(flags.config).stem().string();
}

void print_dry_run(const TrainFlags& flags, const RunConfig& config) {
  const c10::Device device = flags.ranks.device(flags.device);
  Communicator& ranks = flags.ranks.join(device);
  const std::unique_ptr<DataSet> data = make_training_data(config);
  leave_out_broken(*data, worker_count(config.train.workers), progress_bar());
  const RunConfig settled = settle_colour(config, *data);
  log_defaults(settled);
  const DryRun result =
      Trainer(settled, *data, run_folder(flags), device, progress_bar(), ranks)
          .dry_run();
  if (!speaks()) return;
  print_line(flags.json ? dry_run_json(result) : dry_run_text(result));
}

/// With what the data decide, if they are there.
void print_config(RunConfig config) {
  const ConfigNode& input = *config.section("model").find("input");
  if (input.find("colour")->scalar == "auto") {
    try {
      config = settle_colour(config, *make_training_data(config));
    } catch (const DataError& error) {
      log_info(std::string("model.input.colour stays auto until the data are "
                           "there: ") +
               error.what());
    }
  }
  std::printf("%s", to_yaml(config.tree).c_str());
}

/// The command that continues the run, with the flags that its numbers hang
/// on.
std::string resume_command(const TrainFlags& flags, const std::string& folder) {
  std::string text = "kith";
  for (const std::string& plugin : loaded_plugins()) {
    text += " --plugin " + shell_word(plugin);
  }
  text += " train --resume --out " + shell_word(folder);
  if (flags.device.device != "auto") {
    text += " --device " + shell_word(flags.device.device);
  }
  if (flags.device.threads > 0) {
    text += " --threads " + std::to_string(flags.device.threads);
  }
  if (flags.ranks.ranks > 1) {
    text += " --ranks " + std::to_string(flags.ranks.ranks);
  }
  return text;
}

/// Trains until the end or until a signal asks it to stop.
EvalResult train_or_stop(const TrainFlags& flags, const RunConfig& config,
                         const std::string& folder) {
  const c10::Device device = flags.ranks.device(flags.device);
  Communicator& ranks = flags.ranks.join(device);
  const StopSignals signals;
  try {
    return train_experiment(config, folder, device, flags.resume,
                            progress_bar(),
                            {.resume = {.new_lr = flags.allow_lr},
                             .stop = signals.request(),
                             .ranks = &ranks});
  } catch (const RunStopped& stopped) {
    progress_bar().erase();
    if (speaks()) {
      std::fprintf(stderr, "kith: stopped after step %lld; go on with: %s\n",
                   static_cast<long long>(stopped.step()),
                   printable(resume_command(flags, folder)).c_str());
    }
    // Another rank may have got the signal.
    throw ProgramEnd{128 + (signals.first() == 0 ? SIGTERM : signals.first())};
  }
}

/// A result of which the run's files have only the numbers.
EvalResult result_of(const StoredEval& stored) {
  EvalResult result;
  result.parts = stored.parts;
  for (const StoredMetric& metric : stored.metrics) {
    MetricValue value{metric.name, metric.value, "", metric.list};
    value.is_share = metric_is_share(metric.name);
    result.metrics.push_back(std::move(value));
  }
  return result;
}

/// The last evaluation, and the best checkpoint on the test split if that had
/// no part in the choice: each with what it is of.
void print_trained(const TrainFlags& flags, const RunConfig& config,
                   const std::string& folder, const EvalResult& result) {
  if (!config.eval.evaluates()) {
    if (flags.json) std::printf("%s", eval_metrics_json({result}).c_str());
    return;
  }
  const RunMetrics metrics = read_run_metrics(RunFolder(folder).metrics());
  EvalReport last{result, metrics.protocol, metrics.split};
  last.checkpoint = choose_checkpoint(folder, "last");
  if (flags.json) {
    nlohmann::ordered_json json = json_of(last);
    if (metrics.test) json["test"] = json_of(*metrics.test);
    print_json(json);
    return;
  }
  std::map<std::string, double> shares;
  for (const auto& [name, value] : config.published) shares[name] = value / 100;
  const auto published = published_column(shares, config.published_source);
  print_line(evaluated_text(last));
  print_metrics(result, metrics.test ? std::vector<MetricColumn>() : published);
  if (!metrics.test) return;
  EvalReport test{result_of(metrics.test->found), metrics.protocol, "test"};
  test.checkpoint = {RunFolder(folder).checkpoint("best"), "best",
                     metrics.test->epoch, metrics.test->step};
  print_line();
  print_line(evaluated_text(test) + ", chosen on " + metrics.chosen_on);
  print_metrics(test.result, published);
}

void run_train(const TrainFlags& flags) {
  const RunConfig config = read_config(flags);
  if (flags.print_config) return print_config(config);
  config.train.check_ranks(std::max<int64_t>(1, flags.ranks.ranks));
  flags.ranks.start();
  if (flags.dry_run) {
    print_dry_run(flags, config);
    return;
  }
  const std::string folder = run_folder(flags);
  // The first rank writes there, and may have begun.
  if (!flags.resume && speaks()) check_holds_no_run(folder);
  // As it was, it has nothing left to train.
  const bool was_finished = flags.resume && flags.config.empty() &&
                            flags.overrides.empty() &&
                            RunFolder(folder).is_finished();
  const EvalResult result = train_or_stop(flags, config, folder);
  if (!speaks()) return;
  if (was_finished) {
    const RunMetrics metrics = read_run_metrics(RunFolder(folder).metrics());
    log_info(
        "to extend the run: " + resume_command(flags, folder) + " --set " +
        (metrics.ended_by.empty() ? config.train.end_key() : metrics.ended_by) +
        "=N");
  } else {
    log_info("the run is in " + folder);
  }
  print_trained(flags, config, folder, result);
}

}  // namespace

void add_train(CLI::App& app) {
  auto* command = app.add_subcommand("train", "Train a model");
  auto flags = std::make_shared<TrainFlags>();
  command->add_option("config", flags->config, "Configuration, a .yaml file");
  command
      ->add_option("--set", flags->overrides,
                   "Overrides a key, such as loss.t2=0.02; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--out", flags->out,
                      "The run's folder; default: runs/<configuration's name>");
  command->add_option("--seed", flags->seed, "Same as --set train.seed=N")
      ->check(integer(0));
  command->add_flag("--resume", flags->resume,
                    "Continue the run in --out to the same numbers; with --set "
                    "train.epochs=N it is extended");
  command->add_flag("--allow-lr", flags->allow_lr,
                    "With --resume: go on with another optimizer.lr");
  command->add_flag("--print-config", flags->print_config,
                    "Print the whole configuration with every default, and "
                    "stop");
  command->add_flag("--dry-run", flags->dry_run,
                    "Take a few steps and print the memory, steps and time "
                    "that the run will take; keeps nothing");
  command->add_flag("--json", flags->json,
                    "The last metrics as one JSON object");
  flags->device.add_to(*command);
  flags->ranks.add_to(*command);
  command->callback([flags] { run_train(*flags); });
}

}  // namespace kith
