#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kith/core/timer.h"
#include "kith/ops/gpu_clock.h"
#include "kith/run/run_log.h"
#include "kith/train/batch_cut.h"
#include "kith/train/epoch_feed.h"
#include "kith/train/feature_bank.h"
#include "kith/train/multistage.h"
#include "kith/train/objective.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_guard.h"
#include "kith/train/schedule.h"
#include "kith/train/weight_average.h"

namespace kith {

class GradientSum;

/// Measures the phases of a step one after another. A GPU is not waited for in
/// between: what comes next is started while it still computes.
class PhaseMeter {
 public:
  explicit PhaseMeter(c10::Device device);

  /// What was started since the last lap belongs to a phase.
  void lap(Phase Phases::*phase);

  /// Waits for the device: all phases. One with several laps has their sum.
  Phases phases();

 private:
  struct Lap {
    Phase Phases::*phase;
    double seconds;  ///< Of the processor.
    int64_t peak_bytes;
  };

  c10::Device device_;
  Timer timer_;
  std::vector<Lap> laps_;
  std::optional<GpuClock> clock_;  ///< On a GPU.
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
  const BatchCut& cut;
  /// In place of pictures and backbone; null: these.
  const FeatureBank* bank = nullptr;
  WeightAverage* average = nullptr;  ///< Null: none is kept.
};

/// A step of a training: embeddings of the whole batch, the loss on all of
/// them, its gradient back through the network, and the optimiser.
///
/// Several ranks: each embeds the pictures of its lanes, all gather the
/// embeddings, and each takes the gradient of its own back through the network;
/// the parameters' gradients are added up over all lanes, so that the optimiser
/// does the same on every rank.
class TrainingStep {
 public:
  TrainingStep(const StepParts& parts, const TrainOptions& options,
               c10::Device device);
  ~TrainingStep();
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Takes the step that comes next in `state`, of an epoch of
  /// `steps_in_epoch`, and counts it there. `batch` as Epoch::next() gives
  /// it. If memory runs out, on any rank, all take the step again in smaller
  /// chunks, once. Throws RunError on NaN, or if memory does not suffice.
  StepRecord take(const Batch& batch, RunState& state, int64_t steps_in_epoch,
                  PhaseMeter& meter);

  int64_t sub_batch() const { return lanes_.front().sub_batch(); }
  int64_t chunks() const;       ///< Of the last batch, on this rank.
  int64_t graphs_kept() const;  ///< Of those.

 private:
  Tensor embed(const Batch& batch, const BatchLanes& lanes, uint64_t seed,
               const std::optional<Mixup>& mixup, ObjectiveInput& input);
  std::vector<Multistage::Part> items_of(const Batch& batch,
                                         const BatchLanes& lanes,
                                         const BatchCut::Lane& lane,
                                         const ObjectiveInput& input) const;
  BatchCut::Lane lane_of(size_t own, int64_t count) const;
  void replay_chunks();
  bool halve_sub_batch(int64_t count);
  void back_propagate(const Tensor& gradient, const BatchLanes& lanes);
  std::unique_ptr<GradientSum> take_sum(const BatchLanes& lanes);
  void compute_gradients(const Batch& batch, const RunState& state,
                         StepRecord& record, PhaseMeter& meter);
  std::optional<Mixup> draw_mixup_of(const RunState& state) const;
  int64_t schedule_epochs(const RunState& state) const;
  double schedule_factor(const RunState& state, int64_t steps_in_epoch) const;
  void make_room(const Batch& batch, int64_t step);

  StepParts parts_;
  TrainOptions options_;
  c10::Device device_;
  std::vector<Multistage> lanes_;     ///< This rank's.
  std::vector<Tensor> weights_;       ///< Of the network.
  std::unique_ptr<GradientSum> sum_;  ///< Of the step before; null: none.
  bool in_step_;         ///< Ranks share the statistics of batch norm.
  bool halved_ = false;  ///< Memory ran out once.
};

}  // namespace kith
