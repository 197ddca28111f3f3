#include "kith/train/training_step.h"

#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/memory.h"
#include "kith/ops/gpu.h"

namespace kith {

PhaseMeter::PhaseMeter(c10::Device device) : device_(device) {
  if (device_.is_cuda()) reset_gpu_peak(device_.index());
}

Phase PhaseMeter::lap() {
  Phase phase;
  if (device_.is_cuda()) {
    torch::cuda::synchronize(device_.index());
    phase.peak_bytes = gpu_peak_bytes(device_.index());
    reset_gpu_peak(device_.index());
  } else {
    phase.peak_bytes = peak_resident_bytes().value_or(0);
  }
  phase.seconds = timer_.lap();
  return phase;
}

TrainingStep::TrainingStep(const StepParts& parts, const TrainOptions& options,
                           c10::Device device)
    : parts_(parts),
      options_(options),
      device_(device),
      multistage_(parts.net, device, options.sub_batch,
                  parse_keep_graphs(options.keep_graphs)) {}

StepRecord TrainingStep::take(const Batch& batch, RunState& state,
                              int64_t steps_in_epoch, PhaseMeter& meter) {
  StepRecord record;
  record.phases.data = meter.lap();
  for (bool done = false; !done;) {
    // An attempt that fails leaves nothing behind: batch norm does not count
    // it, and gradients and random numbers start anew.
    StatisticsGuard statistics(parts_.net);
    try {
      compute_gradients(batch, state, record, meter);
      statistics.dismiss();
      done = true;
    } catch (const c10::OutOfMemoryError&) {
      make_room(batch, state.step + 1);
    }
  }
  record.lr =
      parts_.optimizer.base_lr() * schedule_factor(state, steps_in_epoch);
  parts_.optimizer.step(record.lr);
  record.phases.optimizer = meter.lap();

  record.epoch = state.epoch;
  ++state.step_in_epoch;
  record.step = ++state.step;
  record.images = batch.count();
  return record;
}

/// Epochs of the schedule. One that goes on over more or fewer of them does so
/// from the next epoch, so that where in an epoch a run was stopped makes no
/// difference.
int64_t TrainingStep::schedule_epochs(const RunState& state) const {
  const int64_t began = state.step - state.step_in_epoch;
  for (const RunChange& change : state.changes) {
    if (change.key == "train.epochs" && change.epoch == state.epoch &&
        change.step > began) {
      return std::stoll(change.before);
    }
  }
  return options_.epochs;
}

/// The schedule begins after the epochs of the head alone, which have the full
/// rate.
double TrainingStep::schedule_factor(const RunState& state,
                                     int64_t steps_in_epoch) const {
  if (state.epoch < options_.head_epochs) return 1;
  const double done = static_cast<double>(state.step_in_epoch) /
                      static_cast<double>(steps_in_epoch);
  return parts_.schedule.factor(
      static_cast<double>(state.epoch - options_.head_epochs) + done,
      static_cast<double>(schedule_epochs(state)));
}

void TrainingStep::compute_gradients(const Batch& batch, const RunState& state,
                                     StepRecord& record, PhaseMeter& meter) {
  const TunedConvolutions tuned(options_.tune);
  const auto seed = static_cast<uint64_t>(options_.seed);
  Rng rng(seed, Stream::kStep, {state.epoch, state.step_in_epoch});
  ObjectiveInput input;
  input.epoch = state.epoch;
  input.step_in_epoch = state.step_in_epoch;
  input.labels =
      torch::tensor(parts_.split.class_numbers(batch.indices), torch::kLong)
          .to(device_);
  parts_.optimizer.zero_grad();
  const std::optional<Mixup> mixup = draw_mixup_of(state);
  std::vector<Multistage::Part> pictures;
  for (const BatchPart& part : batch.parts) {
    pictures.push_back({pixels_of(part), part.positions});
  }
  const Tensor embeddings =
      multistage_.embed(std::move(pictures), rng.next(), mixup);
  input.embeddings = embeddings;
  if (mixup) {
    input.other_labels = input.labels.index_select(0, multistage_.partners());
    input.share = mixup->lambda;
  }
  record.phases.forward = meter.lap();

  LossOutput loss;
  try {
    loss = parts_.objective.compute(input);
  } catch (const c10::ValueError&) {  // such as a miner's
    parts_.guard.check_embeddings(batch, state.step + 1, embeddings);
    throw;
  }
  loss.value.backward();
  record.loss = loss.value.item<double>();
  record.stats = loss.stats;
  record.phases.loss = meter.lap();

  multistage_.backward(embeddings.grad());
  record.phases.backward = meter.lap();

  const NamedTensors& parameters = parts_.optimizer.parameters();
  record.grad_norm = clip_gradients(parameters, options_.clip_norm);
  parts_.guard.check_step(batch, state.step + 1, record, embeddings, loss.value,
                          parameters);
  parts_.objective.remember(input);
  parts_.feed.update_pool(batch, embeddings);
}

/// Where and how far the pictures of this step are mixed, if they are.
std::optional<Mixup> TrainingStep::draw_mixup_of(const RunState& state) const {
  if (options_.mixup == 0) return {};
  Rng rng(static_cast<uint64_t>(options_.seed), Stream::kMixup,
          {state.epoch, state.step_in_epoch});
  return draw_mixup(options_.mixup, parts_.net.backbone().mix_points(),
                    rng.next());
}

/// After memory ran out: smaller chunks, once. Throws the next time.
void TrainingStep::make_room(const Batch& batch, int64_t step) {
  multistage_.drop();
  parts_.optimizer.zero_grad();
  release_gpu_cache();
  const int64_t before =
      multistage_.sub_batch() == 0 ? batch.count() : multistage_.sub_batch();
  const std::string keep = options_.keep_graphs;
  if (halved_ || keep == "all" || !multistage_.halve_sub_batch()) {
    throw RunError("out of memory on " + device_.str() + " at step " +
                   std::to_string(step) + " with train.sub_batch " +
                   std::to_string(before) + " and train.keep_graphs " + keep +
                   (keep == "all"
                        ? ": set train.keep_graphs to auto"
                        : ": set train.sub_batch to a quarter of that, or use "
                          "smaller images"));
  }
  halved_ = true;
  log_warning("out of memory on " + device_.str() + ": train.sub_batch goes " +
              "from " + std::to_string(before) + " to " +
              std::to_string(multistage_.sub_batch()) +
              " and the step is taken again; set it to that to save the try");
}

}  // namespace kith
