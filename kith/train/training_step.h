#pragma once

#include <memory>
#include <optional>

#include "kith/core/timer.h"
#include "kith/run/run_log.h"
#include "kith/train/epoch_feed.h"
#include "kith/train/multistage.h"
#include "kith/train/objective.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_guard.h"
#include "kith/train/schedule.h"

namespace kith {

/// Measures the phases of a step one after another.
class PhaseMeter {
 public:
  explicit PhaseMeter(c10::Device device);

  /// Waits for the device and returns the phase since the last lap.
  Phase lap();

 private:
  c10::Device device_;
  Timer timer_;
};

/// What takes part in a step; all of it must outlive the steps.
struct StepParts {
  EmbeddingNet& net;
  Objective& objective;
  Optimizer& optimizer;
  const Schedule& schedule;
  const TrainingSplit& split;
  EpochFeed& feed;
  const RunGuard& guard;
};

/// A step of a training: embeddings of the whole batch, the loss on all of
/// them, its gradient back through the network, and the optimiser.
class TrainingStep {
 public:
  TrainingStep(const StepParts& parts, const TrainOptions& options,
               c10::Device device);

  /// Takes the step that comes next in `state`, of an epoch of
  /// `steps_in_epoch`, and counts it there. If memory runs out, the step is
  /// taken again in smaller chunks, once. Throws RunError on NaN, or if memory
  /// does not suffice.
  StepRecord take(const Batch& batch, RunState& state, int64_t steps_in_epoch,
                  PhaseMeter& meter);

  const Multistage& multistage() const { return multistage_; }

 private:
  void compute_gradients(const Batch& batch, const RunState& state,
                         StepRecord& record, PhaseMeter& meter);
  std::optional<Mixup> draw_mixup_of(const RunState& state) const;
  int64_t schedule_epochs(const RunState& state) const;
  double schedule_factor(const RunState& state, int64_t steps_in_epoch) const;
  void make_room(const Batch& batch, int64_t step);

  StepParts parts_;
  TrainOptions options_;
  c10::Device device_;
  Multistage multistage_;
  bool halved_ = false;  ///< Memory ran out once.
};

}  // namespace kith
