#include "kith/train/experiment.h"

#include "kith/core/error.h"
#include "kith/core/log.h"

namespace kith {
namespace {

/// What one run leaves behind.
struct Trained {
  EvalResult last;
  int64_t best_epoch = 0;
};

Trained train_once(const RunConfig& config, const std::string& folder,
                   c10::Device device, bool resume, Progress& progress) {
  const std::unique_ptr<DataSet> data = make_training_data(config);
  Trainer trainer(config, *data, folder, device, progress);
  if (resume) trainer.resume();
  Trained trained;
  trained.last = trainer.run();
  trained.best_epoch = trainer.best_epoch();
  return trained;
}

}  // namespace

std::unique_ptr<DataSet> make_training_data(const RunConfig& config) {
  std::unique_ptr<DataSet> data = make_data_set(config.section("data"));
  if (config.train.validation > 0) {
    data->hold_out_classes(config.train.validation);
  }
  if (config.train.folds > 0) {
    data->hold_out_fold(config.train.folds, config.train.fold);
  }
  return data;
}

RunConfig final_config(const RunConfig& config, int64_t best_epoch) {
  ConfigNode tree = config.tree;
  apply_override(tree, "train.validation=0");
  apply_override(tree, "train.stop_epoch=" + std::to_string(best_epoch));
  apply_override(tree, "eval.every=0");
  return complete_config(tree);
}

EvalResult train_experiment(const RunConfig& config, const std::string& folder,
                            c10::Device device, bool resume,
                            Progress& progress) {
  if (config.train.validation == 0 || !config.train.final) {
    return train_once(config, folder, device, resume, progress).last;
  }
  const std::string selection = folder + "/selection";
  const Trained chosen =
      train_once(config, selection, device, resume, progress);
  log_info("chosen on held-out classes: epoch " +
           std::to_string(chosen.best_epoch) + " (" + selection +
           "/metrics.json); now all training classes");
  return train_once(final_config(config, chosen.best_epoch), folder, device,
                    resume, progress)
      .last;
}

}  // namespace kith
