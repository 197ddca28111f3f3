#pragma once

#include <memory>
#include <string>

#include "kith/train/trainer.h"

namespace kith {

/// The data set of a configuration as training uses it: with
/// `train.validation` or `train.folds`, part of the training classes is held
/// out.
std::unique_ptr<DataSet> make_training_data(const RunConfig& config);

/// Leaves out images that cannot be read, if the data set skips these: those of
/// the list in the folder of a run, if it has one, else what is found.
void leave_out_as_in_run(DataSet& data, const std::string& folder,
                         int64_t workers, Progress& progress);

/// The configuration for these data. `model.input.colour: auto` becomes what
/// they have (see find_colour), and mean and std, where not given, what goes
/// with it; a line in the log says so. Another says that pictures with colours
/// are made grey, if a user wants that.
RunConfig settle_colour(const RunConfig& config, const DataSet& data);

/// The run that follows a selection: all training classes, as many epochs as
/// were best there, evaluated at its end only.
RunConfig final_config(const RunConfig& config, int64_t best_epoch);

/// ConfigError if a folder holds a run, begun or ended.
void check_holds_no_run(const std::string& folder);

/// What a training may and must do beside its configuration.
struct TrainControl {
  ResumeOptions resume = {};
  StopRequest stop = nullptr;
  Communicator* ranks = nullptr;  ///< That train together; null: this one.
};

/// Trains as a configuration says and returns the last evaluation.
///
/// Without `train.validation` that is one run in `folder`. With it there are
/// two: in folder/selection the best epoch is found on held-out training
/// classes, then the run in `folder` trains on all of them for as long. The
/// test split has no part in any choice. With `train.final: false` the first
/// of the two is the run in `folder`, and there is no other; so it is with
/// `train.folds`.
///
/// `resume` continues what is there; without it a folder that holds a run is
/// refused. RunError if another process trains in the folder; RunStopped if
/// `control` asked for it.
EvalResult train_experiment(const RunConfig& config, const std::string& folder,
                            c10::Device device, bool resume, Progress& progress,
                            const TrainControl& control = {});

}  // namespace kith
