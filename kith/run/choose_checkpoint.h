#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// A network that was chosen, and when in a training it was like that.
struct ChosenCheckpoint {
  std::string file = {};  ///< That is read.
  std::string name = {};  ///< "last", "best" or "epoch"; empty: of no run.
  int64_t epoch = -1;     ///< Epochs that were complete; -1: not known.
  int64_t step = -1;
  bool within_epoch = false;  ///< Steps of a further epoch were done.

  /// "best checkpoint (epoch 7)", "checkpoint of epoch 12", or the file.
  std::string text() const;

  /// For names of files: "best-epoch-7", "last-step-480", "epoch-12"; empty
  /// for a network that is of no run.
  std::string slug() const;
};

/// The network that `model` (a run, a checkpoint, an export) and `which` mean:
/// "last", "best" or the number of an epoch, 0 for the network before training;
/// empty: the last of a run, or the only one. An epoch is found under its own
/// name or as what the last or the best checkpoint is of. DataError, which
/// lists what is there, for one that is not; ConfigError if `which` is none of
/// these, or is given for what is no run.
ChosenCheckpoint choose_checkpoint(const std::string& model,
                                   const std::string& which = "");

}  // namespace kith
