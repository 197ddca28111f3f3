#include "kith/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/ops/gpu.h"
#include "kith/samplers/epoch_use.h"
#include "kith/train/checkpoint.h"
#include "kith/train/previous_checkpoint.h"
#include "kith/train/run_state.h"

namespace kith {
namespace {

bool is_bad(const Tensor& tensor) {
  return !torch::isfinite(tensor).all().item<bool>();
}

/// What first has a NaN or infinity, in the order of computation.
std::string first_bad(const Tensor& embeddings, const Tensor& loss,
                      const NamedTensors& parameters) {
  if (is_bad(embeddings)) return "the embeddings";
  if (is_bad(loss)) return "the loss";
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined() && is_bad(parameter.grad())) {
      return "the gradient of " + name;
    }
  }
  return "the norm of the gradient";
}

/// Lists the images of the batch in a file of the run's folder.
[[noreturn]] void stop_at_batch(const Batch& batch, const DataSet& data,
                                const std::string& folder, int64_t step,
                                const std::string& why) {
  std::string paths;
  for (const int64_t index : batch.indices) {
    paths += data.list().items[static_cast<size_t>(index)].path + "\n";
  }
  const std::string file = folder + "/bad_batch.txt";
  write_file_atomically(file, paths);
  throw RunError("step " + std::to_string(step) + ": " + why +
                 "; the images of the batch are listed in " + file +
                 ". A smaller learning rate or train.clip_norm often helps.");
}

}  // namespace

int64_t Trainer::steps_done() const { return state_->step; }

int64_t Trainer::best_epoch() const {
  return state_->best.is_null() ? 0 : state_->best.at("epoch").get<int64_t>();
}

EvalResult Trainer::run() {
  start_weights();
  std::filesystem::create_directories(folder_ + "/checkpoints");
  std::filesystem::remove(folder_ + "/diverged.txt");  // of another try
  write_file_atomically(folder_ + "/config.yaml", to_yaml(config_.tree));
  const bool evaluates = config_.eval.evaluates();
  if (is_finished()) {  // resumed after the end
    write_metrics();
    return evaluates ? evaluate_now() : EvalResult();
  }
  Journal journal = open_journal();
  if (state_->epoch < config_.train.head_epochs) {
    log_info("epochs: " + std::to_string(config_.train.head_epochs) +
             " of the head and what the loss learns, then " +
             std::to_string(config_.train.epochs) + " of the whole network");
  }
  if (config_.eval.before && state_->is_new()) {
    record_evaluation(journal);
    save("last", /*with_optimizer=*/true);
  }
  EvalResult result;
  while (!is_finished()) {
    train_epoch(journal);
    const int64_t every = config_.eval.every;
    if (evaluates &&
        (is_finished() || (every > 0 && state_->epoch % every == 0))) {
      result = record_evaluation(journal);
      keep_if_best(result);
    }
    save("last", /*with_optimizer=*/true);
  }
  write_metrics();
  log_info(totals_.summary());
  return result;
}

Journal Trainer::open_journal() const {
  const int64_t last_step = state_->is_new() ? -1 : state_->step;
  return Journal(
      folder_, last_step, data_,
      {config_.log.gallery, static_cast<uint64_t>(config_.train.seed)});
}

bool Trainer::is_finished() const {
  const TrainOptions& train = config_.train;
  return state_->epoch == train.last_epoch() ||
         (train.steps > 0 && state_->step >= train.steps);
}

/// Before an epoch: embeddings for a sampler that chooses by them.
void Trainer::prepare_pool() {
  if (!pool_ || state_->step_in_epoch > 0) return;  // resumed within an epoch
  if (state_->step == 0 || sampler_->rebuilds_pool()) {
    pool_->fill(
        embed(*net_, data_, split_.images(), embed_options(), progress_));
  }
  pool_->begin_epoch();
}

/// The batches of an epoch from step `first` on, or its first `limit` ones.
/// Its threads begin to load at once.
Trainer::Epoch Trainer::open_epoch(int64_t number, int64_t first,
                                   int64_t limit) const {
  const Timer timer;
  std::vector<std::vector<int64_t>> plan = sampler_->epoch(
      {number, pool_ ? pool_->planned_from() : EmbeddingPool()});
  Epoch epoch;
  epoch.number = number;
  epoch.steps = static_cast<int64_t>(plan.size());
  epoch.sampler_seconds = timer.seconds();
  if (plan.empty()) {
    throw ConfigError(
        "the sampler cannot make a full batch from this data; "
        "use a smaller 'sampler.batch'");
  }
  if (number == 0 && first == 0) {
    const std::string use =
        describe_use(epoch_use(plan, split_.sampler_input(/*seed=*/0)));
    if (!use.empty()) log_info(use);
  }
  epoch.batch = static_cast<int64_t>(plan.front().size());
  plan.erase(plan.begin(), plan.begin() + std::min(first, epoch.steps));
  if (limit > 0) plan.resize(std::min(plan.size(), static_cast<size_t>(limit)));
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  const Loader::LoadFunction load = [this, seed, number, first](
                                        int64_t batch, int64_t position,
                                        int64_t index) {
    Rng rng(seed, Stream::kAugment, {number, first + batch, position});
    return prepare_image(*cache_->load(index), net_->input(), augmentations_,
                         rng);
  };
  epoch.loader = open_loader(std::move(plan), load);
  return epoch;
}

/// Pictures of one size are written to their places as they come.
std::unique_ptr<Loader> Trainer::open_loader(
    std::vector<std::vector<int64_t>> plan,
    const Loader::LoadFunction& load) const {
  const LoaderOptions options = embed_options().loader;
  if (!net_->input().any_shape()) {
    return std::make_unique<Loader>(std::move(plan), load, options);
  }
  const auto load_one = [load](int64_t batch, int64_t position, int64_t index) {
    std::vector<Image> pictures;
    pictures.push_back(load(batch, position, index));
    return pictures;
  };
  return std::make_unique<Loader>(std::move(plan), load_one, options);
}

/// Steps of an epoch, if training ends within it; 0: all. `before` are done
/// when it begins.
int64_t Trainer::steps_left(int64_t before) const {
  return config_.train.steps == 0 ? 0 : config_.train.steps - before;
}

void Trainer::start_progress(const Epoch& epoch) {
  const TrainOptions& train = config_.train;
  const int64_t done = state_->step_in_epoch;
  int64_t steps = epoch.steps;
  Progress::Pace pace{"images", static_cast<double>(epoch.batch), done,
                      steps * (train.last_epoch() - epoch.number - 1)};
  if (train.steps > 0) {
    const int64_t left = steps_left(state_->step);
    steps = std::min(steps, done + left);
    pace.after = std::min(pace.after, left - (steps - done));
  }
  progress_.start("epoch " + std::to_string(epoch.number + 1) + "/" +
                      std::to_string(train.last_epoch()),
                  steps);
  progress_.set_pace(pace);
}

void Trainer::train_epoch(Journal& journal) {
  prepare_pool();
  Epoch epoch = next_epoch_.loader
                    ? std::move(next_epoch_)
                    : open_epoch(state_->epoch, state_->step_in_epoch,
                                 steps_left(state_->step));
  net_->train();
  net_->freeze_backbone(epoch.number < config_.train.head_epochs);
  start_progress(epoch);
  while (epoch.loader->remaining() > 0) {
    PhaseMeter meter(device_);
    const Batch batch = epoch.loader->next();
    const bool last = epoch.loader->remaining() == 0;
    const int64_t steps = state_->step + 1;  // when this one is done
    if (last && !pool_ && epoch.number + 1 < config_.train.last_epoch() &&
        steps != config_.train.steps) {
      // Loads while the last step and an evaluation run.
      next_epoch_ = open_epoch(epoch.number + 1, 0, steps_left(steps));
    }
    StepRecord record = step(batch, epoch.steps, meter);
    record.sampler_seconds = std::exchange(epoch.sampler_seconds, 0);
    totals_.add(record);
    gradients_.add(record);
    if (state_->step % config_.log.every == 0) journal.write(record);
    char note[64];
    std::snprintf(note, sizeof(note), "loss %.4f  lr %.1e", record.loss,
                  record.lr);
    progress_.advance(state_->step_in_epoch, note);
    const int64_t every = config_.train.checkpoint_steps;
    if (every > 0 && state_->step % every == 0 && !last) {
      save("last", /*with_optimizer=*/true);
    }
  }
  progress_.finish();
  const bool fills_memory =
      config_.train.memory > 0 && epoch.number < config_.train.memory_after;
  if (!fills_memory) gradients_.end_epoch(epoch.number);
  if (state_->step_in_epoch < epoch.steps) return;  // train.steps are done
  ++state_->epoch;
  state_->step_in_epoch = 0;
}

StepRecord Trainer::step(const Batch& batch, int64_t steps_in_epoch,
                         PhaseMeter& meter) {
  StepRecord record;
  record.phases.data = meter.lap();
  for (bool done = false; !done;) {
    // An attempt that fails leaves nothing behind: batch norm does not count
    // it, and gradients and random numbers start anew.
    StatisticsGuard statistics(*net_);
    try {
      compute_gradients(batch, record, meter);
      statistics.dismiss();
      done = true;
    } catch (const c10::OutOfMemoryError&) {
      make_room(batch);
    }
  }
  record.lr = optimizer_->base_lr() * schedule_factor(steps_in_epoch);
  optimizer_->step(record.lr);
  record.phases.optimizer = meter.lap();

  record.epoch = state_->epoch;
  ++state_->step_in_epoch;
  record.step = ++state_->step;
  record.images = batch.count();
  return record;
}

/// The schedule begins after the epochs of the head alone, which have the full
/// rate.
double Trainer::schedule_factor(int64_t steps_in_epoch) const {
  const TrainOptions& train = config_.train;
  if (state_->epoch < train.head_epochs) return 1;
  const double done = static_cast<double>(state_->step_in_epoch) /
                      static_cast<double>(steps_in_epoch);
  return schedule_->factor(
      static_cast<double>(state_->epoch - train.head_epochs) + done,
      static_cast<double>(train.epochs));
}

/// Embeddings of the whole batch, the loss on all of them, and its gradient
/// back through the network.
void Trainer::compute_gradients(const Batch& batch, StepRecord& record,
                                PhaseMeter& meter) {
  const TunedConvolutions tuned(config_.train.tune);
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  Rng rng(seed, Stream::kStep, {state_->epoch, state_->step_in_epoch});
  ObjectiveInput input;
  input.epoch = state_->epoch;
  input.step_in_epoch = state_->step_in_epoch;
  input.labels =
      torch::tensor(split_.class_numbers(batch.indices), torch::kLong)
          .to(device_);
  optimizer_->zero_grad();
  const std::optional<Mixup> mixup = draw_mixup_of_step();
  std::vector<Multistage::Part> parts;
  for (const BatchPart& part : batch.parts) {
    parts.push_back({pixels_of(part), part.positions});
  }
  const Tensor embeddings =
      multistage_->embed(std::move(parts), rng.next(), mixup);
  input.embeddings = embeddings;
  if (mixup) {
    input.other_labels = input.labels.index_select(0, multistage_->partners());
    input.share = mixup->lambda;
  }
  record.phases.forward = meter.lap();

  const auto stop = [&](const std::string& why) {
    stop_at_batch(batch, data_, folder_, state_->step + 1, why);
  };
  LossOutput loss;
  try {
    loss = objective_->compute(input);
  } catch (const c10::ValueError&) {  // such as a miner's
    if (is_bad(embeddings)) stop("NaN or infinity in the embeddings");
    throw;
  }
  loss.value.backward();
  record.loss = loss.value.item<double>();
  record.stats = loss.stats;
  record.phases.loss = meter.lap();

  multistage_->backward(embeddings.grad());
  record.phases.backward = meter.lap();

  record.grad_norm =
      clip_gradients(optimizer_->parameters(), config_.train.clip_norm);
  if (!std::isfinite(record.grad_norm) || !std::isfinite(record.loss)) {
    stop("NaN or infinity in " +
         first_bad(embeddings, loss.value, optimizer_->parameters()));
  }
  objective_->remember(input);
  if (pool_) pool_->update(batch.indices, embeddings);
}

/// Where and how far the pictures of this step are mixed, if they are.
std::optional<Mixup> Trainer::draw_mixup_of_step() const {
  if (config_.train.mixup == 0) return {};
  Rng rng(static_cast<uint64_t>(config_.train.seed), Stream::kMixup,
          {state_->epoch, state_->step_in_epoch});
  return draw_mixup(config_.train.mixup, net_->backbone().mix_points(),
                    rng.next());
}

/// After memory ran out: smaller chunks, once. Throws the next time.
void Trainer::make_room(const Batch& batch) {
  multistage_->drop();
  optimizer_->zero_grad();
  release_gpu_cache();
  const int64_t before =
      multistage_->sub_batch() == 0 ? batch.count() : multistage_->sub_batch();
  const std::string keep = config_.train.keep_graphs;
  if (halved_ || keep == "all" || !multistage_->halve_sub_batch()) {
    throw RunError("out of memory on " + device_.str() + " at step " +
                   std::to_string(state_->step + 1) + " with train.sub_batch " +
                   std::to_string(before) + " and train.keep_graphs " + keep +
                   (keep == "all"
                        ? ": set train.keep_graphs to auto"
                        : ": set train.sub_batch to a quarter of that, or use "
                          "smaller images"));
  }
  halved_ = true;
  log_warning("out of memory on " + device_.str() + ": train.sub_batch goes " +
              "from " + std::to_string(before) + " to " +
              std::to_string(multistage_->sub_batch()) +
              " and the step is taken again; set it to that to save the try");
}

/// What a checkpoint keeps beside the network and the optimiser.
NamedTensors Trainer::other_state() const {
  NamedTensors all = objective_->state();
  if (pool_) {
    for (const auto& [name, tensor] : pool_->state()) {
      all.emplace_back("pool." + name, tensor);
    }
  }
  return all;
}

void Trainer::save(const std::string& name, bool with_optimizer) const {
  check_weights();
  const std::string path = folder_ + "/checkpoints/" + name + ".safetensors";
  if (name == "last") keep_previous_checkpoint(path);
  save_checkpoint(
      path, {*net_, other_state(), with_optimizer ? optimizer_.get() : nullptr},
      config_.tree, with_optimizer ? state_->dump() : "");
}

}  // namespace kith
