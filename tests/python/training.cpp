// usage: kith_python_training CONFIG FOLDER
//
// For training_test.py: trains as CONFIG says, as `kith train` does.
//
//     FOLDER/plan.json   a list of {"images", "classes"} for each step
//     FOLDER/start       a run of one step with learning rate 0: its checkpoint
//                        has the weights to start from
//     FOLDER/run         the run

#include <exception>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/progress.h"
#include "kith/train/experiment.h"

namespace {

/// The batches of all epochs behind each other.
nlohmann::json plan_of(const kith::RunConfig& config) {
  const auto data = kith::make_training_data(config);
  const kith::TrainingSplit split(data->list());
  const auto sampler = kith::sampler_registry().make(
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

void run(int count, char** arguments) {
  if (count != 3) throw kith::ConfigError("two arguments are needed");
  const std::string folder = arguments[2];
  const kith::ConfigNode user = kith::load_config(arguments[1]);
  const kith::RunConfig config = kith::complete_config(user);
  kith::write_file_atomically(folder + "/plan.json", plan_of(config).dump());
  kith::ConfigNode still = user;
  kith::apply_override(still, "optimizer.lr=0");
  kith::apply_override(still, "train.steps=1");
  const auto train = [&](const kith::RunConfig& what, const char* name) {
    kith::train_experiment(what, folder + "/" + name, c10::kCPU,
                           /*resume=*/false, kith::silent_progress());
  };
  train(kith::complete_config(still), "start");
  train(config, "run");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count, arguments);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "kith_python_training: " << error.what() << "\n";
    return 1;
  }
}
