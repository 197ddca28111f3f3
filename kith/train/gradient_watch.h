#pragma once

#include <cstdint>

#include "kith/run/run_log.h"

namespace kith {

/// Notices that a run learns nothing: gradients that are exactly zero, as of
/// batches without positives or of a miner that finds no tuples.
class GradientWatch {
 public:
  /// Of a run that is resumed: it had a gradient before.
  void resume() { has_learnt_ = true; }

  void add(const StepRecord& step);

  /// After the steps of an epoch, numbered from 0. If no gradient was anything
  /// but zeros, RunError if that was never otherwise, and else a warning: a
  /// loss with a margin may have nothing left to teach.
  void end_epoch(int64_t epoch);

 private:
  bool has_learnt_ = false;
  int64_t steps_ = 0;  ///< Of this epoch.
  int64_t with_gradient_ = 0;
  StepRecord last_;
};

}  // namespace kith
