// What a trainer is made of, and the weights it starts from.

#include <filesystem>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/models/weights.h"
#include "kith/train/checkpoint.h"
#include "kith/train/previous_checkpoint.h"
#include "kith/train/run_place.h"
#include "kith/train/run_state.h"
#include "kith/train/trainer.h"
#include "kith/train/whiten_head.h"

namespace kith {
namespace {

/// Weights start worse where pictures come in other colours, or scaled in
/// another way, than those they were trained with.
void compare_inputs(const std::string& path, const ConfigNode& model) {
  const ConfigNode before = read_checkpoint_info(path).config;
  const ConfigNode* other = before.find("model");
  const ConfigNode* theirs = other == nullptr ? nullptr : other->find("input");
  if (theirs == nullptr) return;
  std::vector<std::string> changed;
  for (const char* key : {"colour", "mean", "std"}) {
    const ConfigNode* node = theirs->find(key);
    if (node != nullptr &&
        to_yaml(*node) != to_yaml(*model.find("input")->find(key))) {
      changed.push_back(std::string("model.input.") + key);
    }
  }
  if (changed.empty()) return;
  log_warning(path + ": these weights were trained with another " +
              join(changed, " and ") + "; set it as there");
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
  if (config.eval.evaluates()) {
    eval_tasks(*protocol_, data.list(), eval_split(config.eval, data.list()));
  }
  warn_of_traps();
}

Trainer::~Trainer() = default;

void Trainer::make_parts() {
  make_sampler();
  augmentations_ = make_augmentations(config_.section("augment"));
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  torch::manual_seed(Rng(seed, Stream::kInit).next());
  net_ = std::make_unique<EmbeddingNet>(config_.section("model"));
  if (net_->input().any_shape() && config_.train.mixup > 0) {
    throw ConfigError(
        "'train.mixup' mixes pictures of one size, and with "
        "'model.input.long_side' their sizes differ: use one or the other");
  }
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
  const Loss& loss = objective_->loss();
  for (const auto& [name, parameter] : loss.named_parameters().pairs()) {
    const double lr = loss.parameter_lr(name);
    if (lr > 0) optimizer_->set_lr("loss." + name, lr);
    if (!loss.decays_parameters()) optimizer_->spare_from_decay("loss." + name);
  }
}

/// Weights as they are before the first step. Not in the constructor: a run
/// that is resumed does not need the files.
void Trainer::start_weights() {
  if (std::exchange(has_weights_, true)) return;
  load_start_weights();
  if (net_->head().options().init != "whitening" ||
      !config_.train.init_from.empty()) {
    return;
  }
  EmbedOptions options = embed_options();
  options.descriptor = {};
  whiten_head(*net_, data_, split_.images(),
              static_cast<uint64_t>(config_.train.seed), options, progress_);
}

void Trainer::load_start_weights() {
  std::string path;
  WeightReport report;
  if (!config_.train.init_from.empty()) {
    path = find_checkpoint(
        run_path(config_.tree, "train.init_from", config_.train.init_from));
    report = start_from_checkpoint(path, *net_);
    compare_inputs(path, config_.section("model"));
  } else if (!net_->options().weights.empty()) {
    path = run_path(config_.tree, "model.weights", net_->options().weights);
    report = load_weights(path, net_->backbone());
  } else {
    return;
  }
  const bool complete = report.missing.empty() && report.mismatched.empty();
  (complete ? log_info : log_warning)(path + ": " + report.summary());
}

void Trainer::warn_of_traps() const {
  net_->train();
  const bool in_parts =
      config_.train.sub_batch > 0 || net_->input().any_shape();
  if (in_parts && !gathered_statistics(*net_).empty()) {
    log_warning(
        "batch norm takes its statistics from each part of train.sub_batch "
        "images, or of one size, so gradients are not those of the whole "
        "batch; model.bn: stats keeps the statistics fixed");
  }
  if (config_.eval.every > 0 && config_.eval.evaluates() &&
      eval_split(config_.eval, data_.list()) == Split::kTest) {
    log_warning(
        "the best checkpoint is picked on the test split, which flatters it: "
        "report the last one, or choose on held-out training classes with "
        "train.validation");
  }
}

void Trainer::resume() {
  const std::string path = folder_ + "/checkpoints/last.safetensors";
  if (std::filesystem::exists(path)) {
    try {
      resume_from(path);
    } catch (const DataError& error) {
      throw DataError(error.what() + remedy_to_resume(path));
    }
  } else if (std::filesystem::exists(previous_checkpoint(path))) {
    throw DataError(path + ": is missing" + remedy_to_resume(path));
  } else {
    log_info("no checkpoint yet: the run starts from the beginning");
  }
}

void Trainer::resume_from(const std::string& path) {
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
  if (state_->step > 0) gradients_.resume();
  log_info("resumed after step " + std::to_string(state_->step));
}

}  // namespace kith
