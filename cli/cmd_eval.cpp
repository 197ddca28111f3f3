#include <filesystem>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/eval/embed.h"
#include "kith/train/checkpoint.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

struct EvalFlags {
  std::string model;
  std::string data;
  std::string protocol;
  std::string split;
  std::string metrics;
  std::string no_positive = "leave_out";
  bool json = false;
  DeviceFlags device;
};

/// The run's own evaluation options with the command line's laid over.
EvalOptions eval_options(const EvalFlags& flags, const ConfigNode& config) {
  EvalOptions options;
  if (const ConfigNode* section = config.find("eval")) {
    options = read_options<EvalOptions>(*section, "eval");
  }
  if (!flags.protocol.empty()) options.protocol = flags.protocol;
  if (!flags.split.empty()) options.split = flags.split;
  if (!flags.metrics.empty())
    options.metrics = split_metric_list(flags.metrics);
  return options;
}

void run_eval(const EvalFlags& flags) {
  const c10::Device device = flags.device.apply();
  const LoadedModel model = load_model(flags.model, device);
  const EvalOptions options = eval_options(flags, model.config);
  const std::vector<NamedMetric> metrics = parse_metrics(options.metrics);
  const std::unique_ptr<Protocol> protocol =
      protocol_registry()
          .at(options.protocol, "--protocol")
          .make(ConfigNode::map(), "protocol");
  const ConfigNode* section = model.config.find("data");
  if (flags.data.empty() && section == nullptr) {
    throw DataError(flags.model +
                    ": no data section in the checkpoint; give "
                    "--data");
  }
  const std::unique_ptr<DataSet> data =
      flags.data.empty() ? make_data_set(*section) : data_from_path(flags.data);
  const Split split = eval_split(options, data->list());
  const EmbeddedSplit embedded =
      embed_split(*model.net, *data, split, *protocol,
                  {options.batch, {worker_count(0), 2}}, progress_bar());
  const EvalResult result =
      evaluate(embedded.scored, metrics, flags.no_positive == "miss");
  if (flags.json) {
    print_line(metrics_json(result));
    return;
  }
  print_line(std::string("protocol ") + options.protocol + ", " +
             split_name(split) + " split");
  print_metrics(result, published_column(model.config));
}

}  // namespace

void add_eval(CLI::App& app) {
  auto* command = app.add_subcommand("eval", "Evaluate a trained model");
  auto flags = std::make_shared<EvalFlags>();
  command
      ->add_option("model", flags->model,
                   "A run's folder or a checkpoint (.safetensors)")
      ->required();
  command->add_option("--data", flags->data,
                      "A configuration, a list or an image folder; default: "
                      "the run's own data");
  command->add_option("--protocol", flags->protocol,
                      "See: kith list protocols; default: the run's");
  command->add_option("--split", flags->split, "Default: the run's")
      ->check(one_of({"train", "validation", "test"}));
  command->add_option("--metrics", flags->metrics,
                      "Names with commas; default: the run's");
  command
      ->add_option("--no-positive", flags->no_positive,
                   "Queries without positives: leave_out, or count as miss")
      ->check(one_of({"leave_out", "miss"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->callback([flags] { run_eval(*flags); });
}

}  // namespace kith
