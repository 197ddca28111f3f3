#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/progress.h"
#include "kith/train/experiment.h"
#include "kith/train/training_split.h"
#include "tests/python/commands.h"

namespace kith {
namespace {

/// The batches of all epochs behind each other.
nlohmann::json plan_of(const RunConfig& config) {
  const auto data = make_training_data(config);
  const TrainingSplit split(data->list());
  const auto sampler = sampler_registry().make(
      config.section("sampler"), "sampler",
      split.sampler_input(static_cast<uint64_t>(config.train.seed)));
  nlohmann::json plan = nlohmann::json::array();
  for (int64_t epoch = 0; epoch < config.train.last_epoch(); ++epoch) {
    for (const auto& batch : sampler->epoch(epoch)) {
      nlohmann::json images = nlohmann::json::array();
      for (int64_t index : batch) {
        images.push_back(data->list().items[static_cast<size_t>(index)].path);
      }
      plan.push_back(
          {{"images", images}, {"classes", split.class_numbers(batch)}});
    }
  }
  return plan;
}

}  // namespace

void train_and_plan(const Arguments& arguments) {
  if (arguments.size() != 2) throw ConfigError("two arguments are needed");
  const std::string folder = arguments[1];
  const ConfigNode user = load_config(arguments[0]);
  const RunConfig config = complete_config(user);
  write_file_atomically(folder + "/plan.json", plan_of(config).dump());
  ConfigNode still = user;
  apply_override(still, "optimizer.lr=0");
  apply_override(still, "train.steps=1");
  const auto train = [&](const RunConfig& what, const char* name) {
    train_experiment(what, folder + "/" + name, c10::kCPU,
                     /*resume=*/false, silent_progress());
  };
  train(complete_config(still), "start");
  train(config, "run");
}

}  // namespace kith
