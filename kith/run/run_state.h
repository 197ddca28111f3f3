#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/config.h"
#include "kith/run/run_changes.h"
#include "kith/run/run_metrics.h"

namespace kith {

/// How far a run is: what its checkpoint keeps beside weights and optimiser.
struct RunState {
  int64_t epoch = 0;              ///< Epochs that are complete.
  int64_t step_in_epoch = 0;      ///< Steps done of the next one.
  int64_t step = 0;               ///< Steps done in all.
  std::vector<RunPoint> history;  ///< All evaluations.
  std::optional<BestPoint> best;
  std::optional<TestPoint> test;   ///< Made when it was finished last.
  std::vector<RunChange> changes;  ///< What it went on with, in order.
  int64_t threads = 0;             ///< Of the process that wrote it.

  /// Nothing of the run is kept yet, no evaluation before training either.
  bool is_new() const { return step == 0 && history.empty(); }

  std::string dump() const;

  /// When the weights were as they are, for a file of weights alone: "epoch",
  /// "step" and, within an epoch, "step_in_epoch".
  std::string dump_point() const;

  /// DataError naming `path` if the text is not what dump() made.
  void load(const std::string& text, const std::string& path);
};

/// The first key in which two configurations differ in a way that changes a
/// run's numbers; empty if there is none.
std::string first_difference(const ConfigNode& a, const ConfigNode& b);

}  // namespace kith
