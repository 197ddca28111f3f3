#include "kith/train/experiment.h"

#include <optional>

#include "kith/core/error.h"
#include "kith/core/file_lock.h"
#include "kith/core/json.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/data/check.h"
#include "kith/data/find_colour.h"
#include "kith/run/detail/stored_json.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_place.h"
#include "kith/train/told_defaults.h"

namespace kith {
namespace {

/// What one run leaves behind.
struct Trained {
  RunConfig config;
  EvalResult last;
  std::optional<BestPoint> best;  ///< Of the epochs that were trained.
};

/// The right to write to a run's folder, from when it is first needed.
class RunRight {
 public:
  RunRight(std::string folder, bool resume, const TrainControl& control)
      : folder_(std::move(folder)),
        resume_(resume),
        writes_(control.ranks == nullptr || control.ranks->is_first()) {}

  void take() {
    if (lock_ || !writes_) return;
    lock_.emplace(folder_, "kith train");
    if (!resume_) check_holds_no_run(folder_);  // since it was looked at last
  }

 private:
  std::string folder_;
  bool resume_;
  bool writes_;
  std::optional<FolderLock> lock_;
};

/// `look` finds images that cannot be read; the first rank does, and the others
/// take its word.
template <class Look>
void leave_out_by_first(DataSet& data, Communicator& ranks, const Look& look) {
  if (!data.skips_broken()) return;
  if (ranks.is_first()) look();
  if (ranks.is_alone()) return;
  OrderedJson list = OrderedJson::array();
  if (ranks.is_first()) {
    for (const BrokenImage& image : data.left_out()) {
      list.push_back({image.position, image.path, image.problem});
    }
  }
  list = parse_json(ranks.broadcast(
      list.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)));
  if (ranks.is_first()) return;
  std::vector<BrokenImage> images;
  for (const OrderedJson& image : list) {
    images.push_back({image.at(0), image.at(1), image.at(2)});
  }
  data.leave_out(std::move(images));
}

Trained train_once(const RunConfig& config, const std::string& folder,
                   RunRight& right, c10::Device device, bool resume,
                   Progress& progress, const TrainControl& control) {
  const std::unique_ptr<DataSet> data = make_training_data(config);
  Communicator& ranks = control.ranks == nullptr ? alone() : *control.ranks;
  leave_out_by_first(*data, ranks, [&] {
    if (resume) {
      leave_out_as_in_run(*data, folder, config.train.workers, progress);
    } else {
      leave_out_broken(*data, worker_count(config.train.workers), progress);
    }
  });
  Trained trained;
  trained.config = settle_colour(config, *data);
  if (!resume) log_defaults(trained.config);
  record_start(trained.config.tree, folder);
  Trainer trainer(trained.config, *data, folder, device, progress, ranks);
  right.take();
  if (resume) trainer.resume(control.resume);
  trained.last = trainer.run(control.stop);
  trained.best = trainer.best_trained();
  return trained;
}

}  // namespace

std::unique_ptr<DataSet> make_training_data(const RunConfig& config) {
  std::unique_ptr<DataSet> data = make_data_set(run_data(config.tree));
  if (config.train.validation > 0) {
    data->hold_out_classes(config.train.validation);
  }
  if (config.train.folds > 0) {
    data->hold_out_fold(config.train.folds, config.train.fold);
  }
  return data;
}

void leave_out_as_in_run(DataSet& data, const std::string& folder,
                         int64_t workers, Progress& progress) {
  if (!data.skips_broken()) return;
  const std::string list = RunFolder(folder).left_out();
  if (!path_exists(list)) {
    return leave_out_broken(data, worker_count(workers), progress);
  }
  std::vector<BrokenImage> images = read_left_out(list);
  if (!images.empty()) {
    log_warning("left out, as before: " + left_out_text(images));
  }
  data.leave_out(std::move(images));
}

RunConfig settle_colour(const RunConfig& config, const DataSet& data) {
  const auto colour_in = [](const RunConfig& in) {
    return in.section("model").find("input")->find("colour")->scalar;
  };
  const std::string wanted = colour_in(config);
  if (wanted != "auto" && wanted != "grey") return config;
  const std::string found = find_colour(data);
  if (wanted == "grey") {
    if (found != "grey") {
      log_info(
          "colour: grey, as 'model.input.colour' says, though the pictures "
          "have colours");
    }
    return config;
  }
  RunConfig settled = config;
  settled.tree.set("model", complete_model(config.section("model"), found));
  log_info("colour: " + colour_in(settled) + " (found in the data)");
  std::erase(settled.open_keys, "model.input.colour");  // told
  return settled;
}

RunConfig final_config(const RunConfig& config, int64_t best_epoch) {
  ConfigNode tree = config.tree;
  apply_override(tree, "train.validation=0");
  apply_override(tree, "train.stop_epoch=" + std::to_string(best_epoch));
  apply_override(tree, "train.patience=0");
  apply_override(tree, "eval.every=0");
  return complete_config(tree);
}

void check_holds_no_run(const std::string& folder) {
  if (!RunFolder(folder).holds_run()) return;
  throw ConfigError(
      folder +
      " already holds a run; continue it with "
      "option 'resume' or choose another folder with option 'out'");
}

EvalResult train_experiment(const RunConfig& config, const std::string& folder,
                            c10::Device device, bool resume, Progress& progress,
                            const TrainControl& control) {
  RunRight right(folder, resume, control);
  if (config.train.validation == 0 || !config.train.final) {
    return train_once(config, folder, right, device, resume, progress, control)
        .last;
  }
  const RunFolder selection = RunFolder(folder).selection();
  const Trained chosen = train_once(config, selection.path(), right, device,
                                    resume, progress, control);
  if (!chosen.best) {
    throw RunError(selection.path() + ": " + config.eval.best +
                   " (eval.best) was not defined in any evaluation of the "
                   "held-out classes, so no epoch can be chosen: they need "
                   "classes of two images or more");
  }
  const int64_t epoch = chosen.best->epoch;
  log_info("chosen on held-out classes: epoch " + std::to_string(epoch) + " (" +
           selection.metrics() + "); now all training classes");
  return train_once(final_config(chosen.config, epoch), folder, right, device,
                    resume, progress, control)
      .last;
}

}  // namespace kith
