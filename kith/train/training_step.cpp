#include "kith/train/training_step.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/memory.h"
#include "kith/ops/gpu.h"
#include "kith/ops/replay.h"
#include "kith/train/gradient_sum.h"
#include "kith/train/lane_statistics.h"

namespace kith {
namespace {

/// The pictures of a lane, [begin, end) of the rank's own, as chunks are made
/// of them.
std::vector<Multistage::Part> pictures_in(const Batch& batch, int64_t begin,
                                          int64_t end) {
  std::vector<Multistage::Part> pictures;
  for (const BatchPart& part : batch.parts) {
    const auto from =
        std::lower_bound(part.positions.begin(), part.positions.end(), begin);
    const auto to = std::lower_bound(from, part.positions.end(), end);
    if (from == to) continue;
    Multistage::Part some;
    some.pixels =
        pixels_of(part).narrow(0, from - part.positions.begin(), to - from);
    for (auto position = from; position != to; ++position) {
      some.positions.push_back(*position - begin);
    }
    pictures.push_back(std::move(some));
  }
  return pictures;
}

/// The head as a network of what its pooling made.
OwnNetwork head_of(EmbeddingNet& net) {
  return {[&net](const Tensor& pool) { return net.head().embed(pool); },
          net.head().shared_from_this()};
}

/// While it lives, cuDNN takes algorithms that give the same bits every time,
/// if wanted.
class SameBits {
 public:
  explicit SameBits(bool wanted)
      : before_(at::globalContext().deterministicCuDNN()) {
    if (wanted) at::globalContext().setDeterministicCuDNN(true);
  }
  ~SameBits() { at::globalContext().setDeterministicCuDNN(before_); }
  SameBits(const SameBits&) = delete;
  SameBits& operator=(const SameBits&) = delete;

 private:
  bool before_;
};

/// Epochs, with fractions, since the first `before`.
double epochs_done(const RunState& state, int64_t steps_in_epoch,
                   int64_t before = 0) {
  const double done = static_cast<double>(state.step_in_epoch) /
                      static_cast<double>(steps_in_epoch);
  return static_cast<double>(state.epoch - before) + done;
}

}  // namespace

PhaseMeter::PhaseMeter(c10::Device device) : device_(device) {
  if (!device_.is_cuda()) return;
  clock_.emplace(device_);
  reset_gpu_peak(device_.index());
}

void PhaseMeter::lap(Phase Phases::*phase) {
  int64_t peak = 0;
  if (clock_) {
    clock_->mark();
    // Memory is taken when work is started.
    peak = gpu_peak_bytes(device_.index());
    reset_gpu_peak(device_.index());
  } else {
    peak = peak_resident_bytes().value_or(0);
  }
  laps_.push_back({phase, timer_.lap(), peak});
}

Phases PhaseMeter::phases() {
  const std::vector<double> on_gpu =
      clock_ ? clock_->seconds() : std::vector<double>();
  Phases phases;
  for (size_t i = 0; i < laps_.size(); ++i) {
    Phase& phase = phases.*laps_[i].phase;
    phase.seconds += clock_ ? on_gpu[i] : laps_[i].seconds;
    phase.peak_bytes = std::max(phase.peak_bytes, laps_[i].peak_bytes);
  }
  return phases;
}

TrainingStep::TrainingStep(const StepParts& parts, const TrainOptions& options,
                           c10::Device device)
    : parts_(parts),
      options_(options),
      device_(device),
      in_step_(parts.net.options().bn == "sync" &&
               parts.cut.ranks().size() > 1 && parts.bank == nullptr) {
  const Lanes& lanes = parts.cut.lanes();
  for (int64_t lane = lanes.first; lane < lanes.last; ++lane) {
    const KeepGraphs keep = parse_keep_graphs(options.keep_graphs);
    if (parts.bank == nullptr) {
      lanes_.emplace_back(parts.net, device, options.sub_batch, keep);
    } else {
      lanes_.emplace_back(head_of(parts.net), device, options.sub_batch, keep);
    }
    if (in_step_) lanes_.back().keep_step(parts.cut.ranks());
  }
  for (const auto& [name, weight] : parts.net.weights()) {
    weights_.push_back(weight);
  }
  replay_chunks();
}

TrainingStep::~TrainingStep() = default;

void TrainingStep::replay_chunks() {
  const bool all = options_.replay == "all";
  if (!all && (options_.replay == "none" || !device_.is_cuda())) return;
  const char* reason = nullptr;
  if (parts_.cut.lanes().count > 1) {
    reason = "gradients of several lanes or ranks are added up on the way";
  } else if (parts_.net.is_own()) {
    reason = "what a network of your own does on the processor is not known";
  }
  if (reason != nullptr) {
    log_info(
        std::string("batches are not started as a whole (train.replay): ") +
        reason);
    return;
  }
  lanes_.front().replay_chunks(
      all ? std::numeric_limits<int64_t>::max() : kMostReplayed,
      /*several=*/all);
}

int64_t TrainingStep::chunks() const {
  int64_t count = 0;
  for (const Multistage& lane : lanes_) count += lane.chunks();
  return count;
}

int64_t TrainingStep::graphs_kept() const {
  int64_t count = 0;
  for (const Multistage& lane : lanes_) count += lane.graphs_kept();
  return count;
}

StepRecord TrainingStep::take(const Batch& batch, RunState& state,
                              int64_t steps_in_epoch, PhaseMeter& meter) {
  StepRecord record;
  meter.lap(&Phases::data);
  for (bool done = false; !done;) {
    // An attempt that fails leaves nothing behind: batch norm does not count
    // it, and gradients and random numbers start anew.
    StatisticsGuard statistics(parts_.net);
    try {
      compute_gradients(batch, state, record, meter);
      statistics.dismiss();
      done = true;
    } catch (const c10::OutOfMemoryError&) {
      parts_.cut.ranks().tell_no_memory();
      make_room(batch, state.step + 1);
    } catch (const RankOutOfMemory&) {
      make_room(batch, state.step + 1);
    }
  }
  record.lr =
      parts_.optimizer.base_lr() * schedule_factor(state, steps_in_epoch);
  parts_.optimizer.step(
      record.lr, {epochs_done(state, steps_in_epoch),
                  epochs_done(state, steps_in_epoch, options_.head_epochs)});
  if (parts_.average != nullptr) parts_.average->update(state.step + 1);
  meter.lap(&Phases::optimizer);
  record.phases = meter.phases();

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
  return parts_.schedule.factor(
      epochs_done(state, steps_in_epoch, options_.head_epochs),
      static_cast<double>(schedule_epochs(state)));
}

void TrainingStep::compute_gradients(const Batch& batch, const RunState& state,
                                     StepRecord& record, PhaseMeter& meter) {
  const TunedConvolutions tuned(options_.tune);
  const SameBits same_bits(options_.lanes > 0);
  const auto seed = static_cast<uint64_t>(options_.seed);
  Rng rng(seed, Stream::kStep, {state.epoch, state.step_in_epoch});
  ObjectiveInput input;
  input.epoch = state.epoch;
  input.step_in_epoch = state.step_in_epoch;
  input.labels =
      torch::tensor(parts_.split.class_numbers(batch.indices), torch::kLong)
          .to(device_);
  parts_.optimizer.zero_grad();
  const BatchLanes lanes = parts_.cut.of(batch.count());
  input.lanes = &lanes;
  const Tensor embeddings =
      embed(batch, lanes, rng.next(), draw_mixup_of(state), input);
  meter.lap(&Phases::forward);

  LossOutput loss;
  try {
    loss = parts_.objective.compute(input);
  } catch (const c10::ValueError&) {  // such as a miner's
    parts_.guard.check_embeddings(batch, state.step + 1, embeddings);
    throw;
  }
  loss.value.backward();
  record.stats = loss.stats;
  meter.lap(&Phases::loss);

  back_propagate(embeddings.grad(), lanes);
  meter.lap(&Phases::backward);

  record.loss = loss.value.item<double>();
  const NamedTensors& parameters = parts_.optimizer.parameters();
  record.grad_norm = clip_gradients(parameters, options_.clip_norm);
  parts_.guard.check_step(batch, state.step + 1, record, embeddings, loss.value,
                          parameters);
  parts_.objective.remember(input);
  parts_.feed.update_pool(batch, embeddings);
}

/// What goes through the network: pictures, or features of them.
std::vector<Multistage::Part> TrainingStep::items_of(
    const Batch& batch, const BatchLanes& lanes, const BatchCut::Lane& lane,
    const ObjectiveInput& input) const {
  if (parts_.bank == nullptr) {
    return pictures_in(batch, lane.begin - lanes.begin(),
                       lane.end - lanes.begin());
  }
  const auto images = batch.indices.begin();
  Multistage::Part features;
  features.pixels =
      parts_.bank->train({images + lane.begin, images + lane.end}, lane.begin,
                         input.epoch, input.step_in_epoch);
  for (int64_t i = 0; i < lane.end - lane.begin; ++i) {
    features.positions.push_back(i);
  }
  return {std::move(features)};
}

BatchCut::Lane TrainingStep::lane_of(size_t own, int64_t count) const {
  return parts_.cut.lane(parts_.cut.lanes().first + static_cast<int64_t>(own),
                         count);
}

/// Embeds this rank's lanes -> [M, D] of all ranks, a leaf that wants a
/// gradient; sets what `input` has of it.
Tensor TrainingStep::embed(const Batch& batch, const BatchLanes& lanes,
                           uint64_t seed, const std::optional<Mixup>& mixup,
                           ObjectiveInput& input) {
  Communicator& ranks = lanes.ranks;
  if (in_step_ && parts_.cut.filled(batch.count()) < lanes.lanes.count) {
    throw RunError(
        "ranks that share the statistics of batch norm (model.bn: sync) need a "
        "picture each, but a batch has " +
        std::to_string(batch.count()) + " for " +
        std::to_string(lanes.lanes.count) + " ranks");
  }
  // Shared ones are the same everywhere.
  LaneStatistics statistics(
      in_step_ ? std::vector<Tensor>() : gathered_statistics(parts_.net),
      lanes.lanes, ranks);
  std::vector<Tensor> embeddings, partners;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const BatchCut::Lane lane = lane_of(i, batch.count());
    const bool has_pictures = lane.begin < lane.end;
    statistics.begin_lane();
    if (has_pictures) {
      embeddings.push_back(lanes_[i].embed(items_of(batch, lanes, lane, input),
                                           seed, mixup, lane.first_chunk));
      if (mixup) partners.push_back(lanes_[i].partners() + lane.begin);
    }
    statistics.end_lane(has_pictures);
  }
  statistics.finish(parts_.cut.filled(batch.count()));
  const auto of_all = [&](std::vector<Tensor>& parts, const Tensor& none) {
    return ranks.all_gather(parts.empty()       ? none
                            : parts.size() == 1 ? parts.front()
                                                : torch::cat(parts));
  };
  const auto floats = torch::TensorOptions(device_);
  input.embeddings =
      of_all(embeddings, torch::empty({0, parts_.net.dim()}, floats))
          .detach()
          .requires_grad_();
  if (mixup) {
    input.other_labels = input.labels.index_select(
        0, of_all(partners, torch::empty({0}, floats.dtype(torch::kLong))));
    input.share = mixup->lambda;
  }
  return input.embeddings;
}

/// dL/dembeddings [M, D], right in the rows of this rank, through the network.
void TrainingStep::back_propagate(const Tensor& gradient,
                                  const BatchLanes& lanes) {
  // The sum over one lane, which one rank has, is what that lane has.
  if (lanes.lanes.count == 1) {
    lanes_.front().backward(gradient);
    return;
  }
  // Not a member meanwhile: what throws leaves none.
  std::unique_ptr<GradientSum> sum = take_sum(lanes);
  // Batch norm in step uses the ranks during the pass.
  const bool sends_early = !lanes.ranks.is_alone() && !in_step_;
  try {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      const BatchCut::Lane lane = lane_of(i, gradient.size(0));
      const bool has_pictures = lane.begin < lane.end;
      const Tensor own = gradient.slice(0, lane.begin, lane.end);
      if (i + 1 < lanes_.size() || !sends_early) {
        if (has_pictures) lanes_[i].backward(own);
        sum->add_lane();
      } else if (has_pictures) {
        lanes_[i].backward(own, [&] { sum->begin_last_pass(); });
      } else {
        sum->begin_last_pass();
      }
    }
    sum->finish();
  } catch (const c10::OutOfMemoryError&) {
    sum->give_up();
    throw;
  }
  sum_ = std::move(sum);
  if (lanes.ranks.is_alone()) return;
  // Every rank has the whole gradient of what the loss learns; but a GPU may
  // add up in any order, and ranks must not drift apart.
  for (const auto& [name, learnt] : parts_.objective.parameters()) {
    Tensor grad = learnt.grad();
    if (grad.defined()) lanes.ranks.broadcast(grad);
  }
}

/// That of the step before, unless other weights want gradients now: parts of
/// the network begin to train after some epochs.
std::unique_ptr<GradientSum> TrainingStep::take_sum(const BatchLanes& lanes) {
  std::vector<Tensor> wanting;
  for (const Tensor& weight : weights_) {
    if (weight.requires_grad()) wanting.push_back(weight);
  }
  if (sum_ && sum_->is_of(wanting)) return std::move(sum_);
  sum_ = nullptr;  // before there is another
  return std::make_unique<GradientSum>(wanting, lanes.lanes, lanes.ranks);
}

/// Where and how far the pictures of this step are mixed, if they are.
std::optional<Mixup> TrainingStep::draw_mixup_of(const RunState& state) const {
  if (options_.mixup == 0) return {};
  Rng rng(static_cast<uint64_t>(options_.seed), Stream::kMixup,
          {state.epoch, state.step_in_epoch});
  return draw_mixup(options_.mixup, parts_.net.backbone().mix_points(),
                    rng.next());
}

/// On several ranks all come to the same size, whichever ran out of memory.
bool TrainingStep::halve_sub_batch(int64_t count) {
  if (parts_.cut.lanes().count == 1) return lanes_.front().halve_sub_batch();
  const int64_t size = parts_.cut.chunk(count);
  if (size < 2) return false;
  for (Multistage& lane : lanes_) lane.set_sub_batch((size + 1) / 2);
  return true;
}

/// After memory ran out: smaller chunks, once. Throws the next time.
void TrainingStep::make_room(const Batch& batch, int64_t step) {
  for (Multistage& lane : lanes_) lane.drop();
  parts_.optimizer.zero_grad();
  const bool had_recording = lanes_.front().stop_replaying();
  release_gpu_cache();
  if (had_recording) {
    log_warning("out of memory on " + device_.str() +
                ": batches are no longer started as a whole (train.replay), "
                "which kept some, and the step is taken again");
    return;
  }
  const int64_t before = sub_batch() == 0 ? batch.count() : sub_batch();
  const std::string keep = options_.keep_graphs;
  if (halved_ || keep == "all" || !halve_sub_batch(batch.count())) {
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
              std::to_string(sub_batch()) +
              " and the step is taken again; set it to that to save the try");
}

}  // namespace kith
