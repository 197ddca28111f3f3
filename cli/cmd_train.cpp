#include <filesystem>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/train/trainer.h"

namespace kith {
namespace {

struct TrainFlags {
  std::string config;
  std::string out;
  std::vector<std::string> overrides;
  int64_t seed = -1;
  bool resume = false;
  bool print_config = false;
  bool json = false;
  DeviceFlags device;
};

RunConfig read_config(const TrainFlags& flags) {
  std::string path = flags.config;
  if (path.empty()) {
    if (!flags.resume || flags.out.empty()) {
      throw ConfigError(
          "give a configuration: kith train CONFIG.yaml (only "
          "--resume --out DIR can do without)");
    }
    path = flags.out + "/config.yaml";
  }
  ConfigNode user = load_with_overrides(path, flags.overrides);
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

void run_train(const TrainFlags& flags) {
  const RunConfig config = read_config(flags);
  if (flags.print_config) {
    std::printf("%s", to_yaml(config.tree).c_str());
    return;
  }
  const c10::Device device = flags.device.apply();
  const std::string folder = run_folder(flags);
  if (!flags.resume && std::filesystem::exists(folder + "/config.yaml")) {
    throw ConfigError(folder +
                      " already holds a run; continue it with "
                      "--resume or choose another --out");
  }
  const std::unique_ptr<DataSet> data = make_data_set(config.section("data"));
  Trainer trainer(config, *data, folder, device, progress_bar());
  if (flags.resume) trainer.resume();
  const EvalResult result = trainer.run();
  log_info("the run is in " + folder);
  if (flags.json) {
    print_line(metrics_json(result));
  } else {
    print_metrics(result, nullptr);
  }
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
                    "Continue the run in --out to the same numbers");
  command->add_flag("--print-config", flags->print_config,
                    "Print the whole configuration with every default, and "
                    "stop");
  command->add_flag("--json", flags->json,
                    "The last metrics as one JSON object");
  flags->device.add_to(*command);
  command->callback([flags] { run_train(*flags); });
}

}  // namespace kith
