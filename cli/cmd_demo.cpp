#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/demo_page.h"
#include "cli/metrics_report.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/data/write_set.h"
#include "kith/train/trainer.h"

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
  if (fs::exists(folder + "/dataset.csv")) {
    log_info("data: using the images in " + folder);
    return;
  }
  log_info("data: drawing 400 characters, 20 times each, into " + folder);
  const auto glyphs = make_data_set(parse_config("{name: glyphs}", "demo"));
  write_data_set(*glyphs, folder, progress_bar());
}

/// Removes what an earlier demo left in its run folder, and nothing else.
void clear_run(const std::string& folder) {
  for (const char* name :
       {"/checkpoints/last.safetensors", "/checkpoints/best.safetensors",
        "/log.jsonl", "/metrics.json", "/config.yaml"}) {
    fs::remove(folder + name);
  }
}

RunConfig demo_config(const DemoFlags& flags, const std::string& data) {
  ConfigNode user = parse_config(kDemoRecipe, "recipes/glyphs.yaml");
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text("csv"));
  section.set("path", ConfigNode::text(data));
  user.set("data", section);
  apply_override(user, "train.seed=" + std::to_string(flags.seed));
  for (const std::string& text : flags.overrides) apply_override(user, text);
  return complete_config(user);
}

/// What to type to get this page again.
std::string command_line(const DemoFlags& flags) {
  std::string text =
      "kith demo --out " + flags.out + " --seed " + std::to_string(flags.seed);
  for (const std::string& assignment : flags.overrides) {
    text += " --set '" + assignment + "'";
  }
  return text;
}

void run_demo(const DemoFlags& flags) {
  const c10::Device device = flags.device.apply();
  const std::string run = flags.out + "/run";
  const std::string data_folder = flags.out + "/data";
  const RunConfig config = demo_config(flags, data_folder);
  make_demo_data(data_folder);
  clear_run(run);
  const std::unique_ptr<DataSet> data = make_data_set(config.section("data"));
  Trainer trainer(config, *data, run, device, progress_bar());

  log_info("evaluating the untrained network on the 200 test characters");
  const EvalResult before = trainer.evaluate_now();
  log_info("training on the other 200 characters with " +
           config.section("loss").find("name")->scalar);
  const Timer timer;
  const EvalResult after = trainer.run();
  const double seconds = timer.seconds();

  const EmbeddedSplit split = trainer.embed_now();
  const std::string page = flags.out + "/report.html";
  write_file_atomically(
      page, render_page(make_run_page({config, *data, split, before, after, run,
                                       command_line(flags), seconds,
                                       trainer.steps_done()})));
  if (flags.json) {
    print_line(nlohmann::ordered_json({{"untrained", metrics_json(before)},
                                       {"trained", metrics_json(after)},
                                       {"run", run},
                                       {"report", page}})
                   .dump(2));
    return;
  }
  MetricColumn untrained{"untrained", {}, ""};
  for (const MetricValue& m : before.metrics) {
    untrained.values[m.name] = m.value;
  }
  print_metrics(after, {untrained});
  print_line("Look at it: " + fs::absolute(page).lexically_normal().string());
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
