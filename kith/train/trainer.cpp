#include "kith/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/eval/eval_json.h"
#include "kith/models/weights.h"
#include "kith/ops/gpu.h"
#include "kith/train/checkpoint.h"
#include "kith/train/run_state.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

Trainer::Trainer(const RunConfig& config, const DataSet& data,
                 std::string folder, c10::Device device, Progress& progress)
    : config_(config),
      data_(data),
      split_(data.list()),
      folder_(std::move(folder)),
      device_(device),
      progress_(progress),
      cache_(std::make_unique<ImageCache>(data, config.train.cache_mb << 20)),
      state_(std::make_unique<RunState>()) {
  make_parts();
  make_optimizer();
  // Now, not after the first epochs.
  config.eval.descriptor.check(net_->backbone());
  eval_tasks(*protocol_, data.list(), eval_split(config.eval, data.list()));
  warn_of_traps();
}

Trainer::~Trainer() = default;

void Trainer::make_parts() {
  make_sampler();
  augmentations_ = make_augmentations(config_.section("augment"));
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  torch::manual_seed(Rng(seed, Stream::kInit).next());
  net_ = std::make_unique<EmbeddingNet>(config_.section("model"));
  if (sampler_->wants_pool()) {
    pool_ = std::make_unique<TrainingPool>(split_.images(), net_->dim());
  }
  schedule_ = schedule_registry().make(config_.section("schedule"), "schedule");
  protocol_ = protocol_registry()
                  .at(config_.eval.protocol, "eval.protocol")
                  .make(ConfigNode::map(), "protocol");
}

void Trainer::make_sampler() {
  if (split_.images().empty()) {
    const ConfigNode* path = config_.section("data").find("path");
    throw DataError(
        "the train split has no images" +
        (path == nullptr ? "" : " (data.path: " + path->scalar + ")"));
  }
  sampler_ = sampler_registry().make(
      config_.section("sampler"), "sampler",
      split_.sampler_input(static_cast<uint64_t>(config_.train.seed)));
  if (sampler_->wants_pool() && config_.train.mixup > 0) {
    throw ConfigError(
        "'train.mixup' gives embeddings of mixed pictures, and this sampler "
        "chooses by those of single ones: use one or the other");
  }
}

/// The network on the device, and what changes its weights.
void Trainer::make_optimizer() {
  net_->use_device(device_);
  net_->apply_precision();
  multistage_ = std::make_unique<Multistage>(
      *net_, device_, config_.train.sub_batch,
      parse_keep_graphs(config_.train.keep_graphs));

  LossContext context;
  context.classes = split_.classes();
  context.dim = net_->dim();
  context.seed = static_cast<uint64_t>(config_.train.seed);
  objective_ = std::make_unique<Objective>(config_, context, device_);

  NamedTensors parameters;
  for (const auto& entry : net_->named_parameters()) {
    parameters.emplace_back(entry.key(), entry.value());
  }
  const NamedTensors& learnt = objective_->parameters();
  parameters.insert(parameters.end(), learnt.begin(), learnt.end());
  optimizer_ = optimizer_registry().make(config_.section("optimizer"),
                                         "optimizer", parameters);
  for (const auto& [name, parameter] : objective_->loss().parameters()) {
    const double lr = objective_->loss().parameter_lr(name);
    if (lr > 0) optimizer_->set_lr("loss." + name, lr);
  }
}

/// Weights as they are before the first step. Not in the constructor: a run
/// that is resumed does not need the files.
void Trainer::start_weights() {
  if (std::exchange(has_weights_, true)) return;
  std::string path;
  WeightReport report;
  if (!config_.train.init_from.empty()) {
    path = find_checkpoint(config_.train.init_from);
    report = start_from_checkpoint(path, *net_);
  } else if (!net_->options().weights.empty()) {
    path = net_->options().weights;
    report = load_weights(path, net_->backbone());
  } else {
    return;
  }
  const bool complete = report.missing.empty() && report.mismatched.empty();
  (complete ? log_info : log_warning)(path + ": " + report.summary());
}

void Trainer::warn_of_traps() const {
  net_->train();
  if (config_.train.sub_batch > 0 && !gathered_statistics(*net_).empty()) {
    log_warning(
        "batch norm takes its statistics from each part of train.sub_batch "
        "images, so gradients are not those of the whole batch; model.bn: "
        "stats keeps the statistics fixed");
  }
  if (config_.eval.every > 0 &&
      eval_split(config_.eval, data_.list()) == Split::kTest) {
    log_warning(
        "the best checkpoint is picked on the test split, which flatters it: "
        "report the last one, or choose on held-out training classes with "
        "train.validation");
  }
}

int64_t Trainer::steps_done() const { return state_->step; }

int64_t Trainer::best_epoch() const {
  return state_->best.is_null() ? 0 : state_->best.at("epoch").get<int64_t>();
}

void Trainer::resume() {
  const std::string path = folder_ + "/checkpoints/last.safetensors";
  if (!std::filesystem::exists(path)) {
    log_info("no checkpoint yet: the run starts from the beginning");
    return;
  }
  const CheckpointInfo info = read_checkpoint_info(path);
  const std::string changed = first_difference(config_.tree, info.config);
  if (!changed.empty()) {
    throw ConfigError("'" + changed +
                      "' differs from the configuration the run was started "
                      "with (" +
                      folder_ + "/config.yaml); resume needs the same");
  }
  load_checkpoint(path, {*net_, other_state(), optimizer_.get()});
  state_->load(info.progress, path);
  has_weights_ = true;
  log_info("resumed after step " + std::to_string(state_->step));
}

EvalResult Trainer::run() {
  start_weights();
  std::filesystem::create_directories(folder_ + "/checkpoints");
  write_file_atomically(folder_ + "/config.yaml", to_yaml(config_.tree));
  RunLog log(folder_ + "/log.jsonl", state_->step);
  const int64_t epochs = config_.train.last_epoch();
  if (state_->epoch == epochs) {  // resumed after the end
    write_metrics();
    return evaluate_now();
  }
  EvalResult result;
  while (state_->epoch < epochs) {
    train_epoch(log);
    const bool last = state_->epoch == epochs;
    const int64_t every = config_.eval.every;
    if (last || (every > 0 && state_->epoch % every == 0)) {
      result = record_evaluation(log);
    }
    save("last", /*with_optimizer=*/true);
  }
  write_metrics();
  log_info(totals_.summary());
  return result;
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
  Epoch epoch{number, static_cast<int64_t>(plan.size()), timer.seconds(),
              nullptr};
  if (plan.empty()) {
    throw ConfigError(
        "the sampler cannot make a full batch from this data; "
        "use a smaller 'sampler.batch'");
  }
  plan.erase(plan.begin(), plan.begin() + std::min(first, epoch.steps));
  if (limit > 0) plan.resize(std::min(plan.size(), static_cast<size_t>(limit)));
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  const auto load = [this, seed, number, first](int64_t batch, int64_t position,
                                                int64_t index) {
    Rng rng(seed, Stream::kAugment, {number, first + batch, position});
    return prepare_image(*cache_->load(index), net_->input(), augmentations_,
                         rng);
  };
  epoch.loader =
      std::make_unique<Loader>(std::move(plan), load, embed_options().loader);
  return epoch;
}

void Trainer::train_epoch(RunLog& log) {
  prepare_pool();
  Epoch epoch = next_epoch_.loader
                    ? std::move(next_epoch_)
                    : open_epoch(state_->epoch, state_->step_in_epoch);
  net_->train();
  net_->freeze_backbone(epoch.number < config_.train.head_epochs);
  progress_.start("epoch " + std::to_string(epoch.number + 1) + "/" +
                      std::to_string(config_.train.last_epoch()),
                  epoch.steps);
  while (epoch.loader->remaining() > 0) {
    PhaseMeter meter(device_);
    const Batch batch = epoch.loader->next();
    const bool last = epoch.loader->remaining() == 0;
    if (last && !pool_ && epoch.number + 1 < config_.train.last_epoch()) {
      // Loads while the last step and an evaluation run.
      next_epoch_ = open_epoch(epoch.number + 1, 0);
    }
    StepRecord record = step(batch, epoch.steps, meter);
    record.sampler_seconds = std::exchange(epoch.sampler_seconds, 0);
    totals_.add(record);
    if (state_->step % config_.log.every == 0) log.write(record);
    char note[32];
    std::snprintf(note, sizeof(note), "loss %.4f", record.loss);
    progress_.advance(state_->step_in_epoch, note);
    const int64_t every = config_.train.checkpoint_steps;
    if (every > 0 && state_->step % every == 0 && !last) {
      save("last", /*with_optimizer=*/true);
    }
  }
  progress_.finish();
  ++state_->epoch;
  state_->step_in_epoch = 0;
}

StepRecord Trainer::step(const Batch& batch, int64_t steps_in_epoch,
                         PhaseMeter& meter) {
  StepRecord record;
  record.phases.data = meter.lap();
  for (bool done = false; !done;) {
    try {
      compute_gradients(batch, record, meter);
      done = true;
    } catch (const c10::OutOfMemoryError&) {
      make_room(batch);
    }
  }
  const double progress = static_cast<double>(state_->epoch) +
                          static_cast<double>(state_->step_in_epoch) /
                              static_cast<double>(steps_in_epoch);
  record.lr =
      optimizer_->base_lr() *
      schedule_->factor(progress, static_cast<double>(config_.train.epochs));
  optimizer_->step(record.lr);
  record.phases.optimizer = meter.lap();

  record.epoch = state_->epoch;
  ++state_->step_in_epoch;
  record.step = ++state_->step;
  record.images = batch.count();
  return record;
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
  const Tensor embeddings =
      multistage_->embed(pixels_of(batch), rng.next(), mixup);
  input.embeddings = embeddings;
  if (mixup) {
    input.other_labels = input.labels.index_select(0, multistage_->partners());
    input.share = mixup->lambda;
  }
  record.phases.forward = meter.lap();

  const LossOutput loss = objective_->compute(input);
  loss.value.backward();
  record.loss = loss.value.item<double>();
  record.stats = loss.stats;
  record.phases.loss = meter.lap();

  multistage_->backward(embeddings.grad());
  record.phases.backward = meter.lap();

  record.grad_norm =
      clip_gradients(optimizer_->parameters(), config_.train.clip_norm);
  if (!std::isfinite(record.grad_norm) || !std::isfinite(record.loss)) {
    std::string paths;
    for (int64_t index : batch.indices) {
      paths += data_.list().items[static_cast<size_t>(index)].path + "\n";
    }
    const std::string file = folder_ + "/bad_batch.txt";
    write_file_atomically(file, paths);
    throw RunError("step " + std::to_string(state_->step + 1) +
                   ": NaN or infinity in " +
                   first_bad(embeddings, loss.value, optimizer_->parameters()) +
                   "; the images of the batch are listed in " + file +
                   ". A smaller learning rate or train.clip_norm often helps.");
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
  if (halved_ || keep == "all" ||
      !multistage_->halve_sub_batch(batch.count())) {
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

EmbedOptions Trainer::embed_options() const {
  LoaderOptions loader{worker_count(config_.train.workers),
                       config_.train.prefetch};
  if (device_.is_cuda()) loader.allocate = page_locked;
  return {config_.eval.batch, loader, cache_.get(), config_.eval.descriptor};
}

EmbeddedSplit Trainer::embed_now() {
  start_weights();
  return embed_split(*net_, data_, eval_split(config_.eval, data_.list()),
                     *protocol_, embed_options(), progress_);
}

EvalResult Trainer::evaluate_now() {
  return evaluate_split(embed_now(), parse_metrics(config_.eval.metrics));
}

EvalResult Trainer::record_evaluation(RunLog& log) {
  const Timer timer;
  const EvalResult result = evaluate_now();
  const double seconds = timer.seconds();
  const double value = result.at(config_.eval.best);
  const std::string json = eval_json(result);
  log.write_eval(state_->step, json, seconds);
  Json point = {{"epoch", state_->epoch}, {"step", state_->step}};
  point.update(Json::parse(json));
  state_->history.push_back(point);
  char text[160];
  std::snprintf(text, sizeof(text), "epoch %lld: %s %.2f%%",
                static_cast<long long>(state_->epoch),
                config_.eval.best.c_str(), 100 * value);
  log_info(text);
  // An undefined value is null from the start, as it is in a checkpoint:
  // otherwise a resumed run would compare another way.
  const Json known = std::isnan(value) ? Json() : Json(value);
  if (state_->best.is_null() || state_->best.at("value") < known) {
    state_->best = {{"metric", config_.eval.best},
                    {"value", known},
                    {"epoch", state_->epoch},
                    {"step", state_->step}};
    save("best", /*with_optimizer=*/false);
  }
  return result;
}

void Trainer::save(const std::string& name, bool with_optimizer) const {
  save_checkpoint(
      folder_ + "/checkpoints/" + name + ".safetensors",
      {*net_, other_state(), with_optimizer ? optimizer_.get() : nullptr},
      config_.tree, with_optimizer ? state_->dump() : "");
}

void Trainer::write_metrics() const {
  const Split split = eval_split(config_.eval, data_.list());
  Json best = state_->best;
  if (best.is_object()) best["chosen_on"] = split_name(split);
  const Json json = {
      {"protocol", config_.eval.protocol},
      {"split", split_name(split)},
      {"last", state_->history.empty() ? Json() : state_->history.back()},
      {"best", best},
      {"history", state_->history}};
  write_file_atomically(folder_ + "/metrics.json", json.dump(2) + "\n");
}

}  // namespace kith
