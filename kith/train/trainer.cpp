#include "kith/train/trainer.h"

#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/eval/eval_json.h"
#include "kith/train/checkpoint.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// Keys that change how a run is carried out but not its numbers.
ConfigNode without_neutral_keys(ConfigNode tree) {
  const auto drop = [](ConfigNode& map, const std::string& key) {
    std::erase_if(map.entries, [&](const auto& e) { return e.first == key; });
  };
  drop(tree, "log");
  if (ConfigNode* train = tree.find("train")) {
    for (const char* key : {"workers", "prefetch", "checkpoint_steps"}) {
      drop(*train, key);
    }
  }
  return tree;
}

/// The first key in which two configurations differ, or an empty string.
std::string first_difference(const ConfigNode& a, const ConfigNode& b,
                             const std::string& path = "") {
  if (a.is_map() && b.is_map()) {
    for (const auto& [key, value] : a.entries) {
      const std::string below = path.empty() ? key : path + "." + key;
      const ConfigNode* other = b.find(key);
      if (other == nullptr) return below;
      const std::string found = first_difference(value, *other, below);
      if (!found.empty()) return found;
    }
    return a.entries.size() == b.entries.size() ? "" : path;
  }
  return to_yaml(a) == to_yaml(b) ? "" : path;
}

}  // namespace

struct Trainer::State {
  int64_t epoch = 0;          ///< Epochs that are complete.
  int64_t step_in_epoch = 0;  ///< Steps done of the next one.
  int64_t step = 0;           ///< Steps done in all.
  Json history = Json::array();
  Json best;

  std::string dump() const {
    return Json({{"epoch", epoch},
                 {"step_in_epoch", step_in_epoch},
                 {"step", step},
                 {"threads", torch::get_num_threads()},
                 {"history", history},
                 {"best", best}})
        .dump();
  }

  void load(const std::string& text, const std::string& path) {
    try {
      const Json json = Json::parse(text);
      epoch = json.at("epoch");
      step_in_epoch = json.at("step_in_epoch");
      step = json.at("step");
      history = json.at("history");
      best = json.at("best");
      if (json.at("threads") != torch::get_num_threads()) {
        log_warning("the run was started with --threads " +
                    json.at("threads").dump() + " and goes on with " +
                    std::to_string(torch::get_num_threads()) +
                    ": results can differ in the last digits");
      }
    } catch (const Json::exception&) {
      throw DataError(path + ": the state of the run in it cannot be read");
    }
  }
};

Trainer::Trainer(const RunConfig& config, const DataSet& data,
                 std::string folder, c10::Device device, Progress& progress)
    : config_(config),
      data_(data),
      folder_(std::move(folder)),
      device_(device),
      progress_(progress),
      state_(std::make_unique<State>()) {
  const auto seed = static_cast<uint64_t>(config.train.seed);
  const std::vector<int64_t> train = data.list().of_split(Split::kTrain);
  if (train.empty()) {
    const ConfigNode* path = config.section("data").find("path");
    throw DataError(
        "the train split has no images" +
        (path == nullptr ? "" : " (data.path: " + path->scalar + ")"));
  }
  sampler_ = sampler_registry().make(
      config.section("sampler"), "sampler",
      SamplerInput{train, data.list().labels(train), seed});
  augmentations_ = make_augmentations(config.section("augment"));
  torch::manual_seed(Rng(seed, Stream::kInit).next());
  net_ = std::make_unique<EmbeddingNet>(config.section("model"));
  net_->to(device_);
  loss_ = loss_registry().make(config.section("loss"), "loss");
  if (config.section("miner").is_map()) {
    miner_ = miner_registry().make(config.section("miner"), "miner");
    if (loss_->tuple_widths().empty()) {
      throw ConfigError("this loss uses the whole batch: remove 'miner'");
    }
  }
  NamedTensors parameters;
  for (const auto& entry : net_->named_parameters()) {
    parameters.emplace_back(entry.key(), entry.value());
  }
  optimizer_ = optimizer_registry().make(config.section("optimizer"),
                                         "optimizer", parameters);
  schedule_ = schedule_registry().make(config.section("schedule"), "schedule");
  protocol_ = protocol_registry()
                  .at(config.eval.protocol, "eval.protocol")
                  .make(ConfigNode::map(), "protocol");
  // Now, not after the first epochs.
  query_sets(*protocol_, data.list(), eval_split(config.eval, data.list()));
}

Trainer::~Trainer() = default;

int64_t Trainer::steps_done() const { return state_->step; }

void Trainer::resume() {
  const std::string path = folder_ + "/checkpoints/last.safetensors";
  if (!std::filesystem::exists(path)) {
    log_info("no checkpoint yet: the run starts from the beginning");
    return;
  }
  const CheckpointInfo info = read_checkpoint_info(path);
  const std::string changed = first_difference(
      without_neutral_keys(config_.tree), without_neutral_keys(info.config));
  if (!changed.empty()) {
    throw ConfigError("'" + changed +
                      "' differs from the configuration the run was started "
                      "with (" +
                      folder_ + "/config.yaml); resume needs the same");
  }
  load_checkpoint(path, *net_, optimizer_.get());
  state_->load(info.progress, path);
  log_info("resumed after step " + std::to_string(state_->step));
}

EvalResult Trainer::run() {
  std::filesystem::create_directories(folder_ + "/checkpoints");
  write_file_atomically(folder_ + "/config.yaml", to_yaml(config_.tree));
  RunLog log(folder_ + "/log.jsonl", state_->step);
  const int64_t epochs = config_.train.epochs;
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
  return result;
}

void Trainer::train_epoch(RunLog& log) {
  const int64_t epoch = state_->epoch;
  std::vector<std::vector<int64_t>> plan = sampler_->epoch(epoch);
  const auto steps = static_cast<int64_t>(plan.size());
  if (steps == 0) {
    throw ConfigError(
        "the sampler cannot make a full batch from this data; "
        "use a smaller 'sampler.batch'");
  }
  const int64_t first = state_->step_in_epoch;
  plan.erase(plan.begin(), plan.begin() + std::min(first, steps));
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  const auto load = [&](int64_t batch, int64_t position, int64_t index) {
    Rng rng(seed, Stream::kAugment, {epoch, first + batch, position});
    return prepare_image(data_.load(index), net_->input(), augmentations_, rng);
  };
  Loader loader(std::move(plan), load,
                {worker_count(config_.train.workers), config_.train.prefetch});
  net_->train();
  progress_.start("epoch " + std::to_string(epoch + 1) + "/" +
                      std::to_string(config_.train.epochs),
                  steps);
  while (loader.remaining() > 0) {
    step(loader, steps, log);
    const int64_t every = config_.train.checkpoint_steps;
    if (every > 0 && state_->step % every == 0 && loader.remaining() > 0) {
      save("last", /*with_optimizer=*/true);
    }
  }
  progress_.finish();
  ++state_->epoch;
  state_->step_in_epoch = 0;
}

void Trainer::step(Loader& loader, int64_t steps_in_epoch, RunLog& log) {
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  const int64_t epoch = state_->epoch;
  StepRecord record;
  Timer timer;

  const Batch batch = loader.next();
  const Tensor images = net_->prepare(batch);
  const Tensor labels =
      torch::tensor(data_.list().labels(batch.indices), torch::kLong)
          .to(device_);
  record.times.data = synchronised_lap(timer);

  torch::manual_seed(
      Rng(seed, Stream::kStep, {epoch, state_->step_in_epoch}).next());
  const Tensor embeddings = net_->forward(images);
  record.times.forward = synchronised_lap(timer);

  LossInput input;
  input.embeddings = embeddings;
  input.labels = labels;
  input.tuples = mine(embeddings, labels);
  input.seed = Rng(seed, Stream::kSimix, {epoch, state_->step_in_epoch}).next();
  const LossOutput loss = compute_loss(*loss_, input);
  record.loss = loss.value.item<double>();
  record.times.loss = synchronised_lap(timer);

  optimizer_->zero_grad();
  loss.value.backward();
  record.times.backward = synchronised_lap(timer);

  record.grad_norm =
      clip_gradients(optimizer_->parameters(), config_.train.clip_norm);
  check_finite(batch, embeddings, loss.value, record.grad_norm);
  const double progress =
      static_cast<double>(epoch) + static_cast<double>(state_->step_in_epoch) /
                                       static_cast<double>(steps_in_epoch);
  record.lr =
      optimizer_->base_lr() *
      schedule_->factor(progress, static_cast<double>(config_.train.epochs));
  optimizer_->step(record.lr);
  record.times.optimizer = synchronised_lap(timer);

  ++state_->step_in_epoch;
  ++state_->step;
  record.epoch = epoch;
  record.step = state_->step;
  record.images = batch.count();
  record.stats = loss.stats;
  if (state_->step % config_.log.every == 0) log.write(record);
  char note[32];
  std::snprintf(note, sizeof(note), "loss %.4f", record.loss);
  progress_.advance(state_->step_in_epoch, note);
}

Tensor Trainer::mine(const Tensor& embeddings, const Tensor& labels) const {
  if (!miner_) return {};
  Rng rng(static_cast<uint64_t>(config_.train.seed), Stream::kMiner,
          {state_->epoch, state_->step_in_epoch});
  return miner_->mine(embeddings.detach(), labels, rng);
}

void Trainer::check_finite(const Batch& batch, const Tensor& embeddings,
                           const Tensor& loss, double grad_norm) const {
  if (std::isfinite(grad_norm) && std::isfinite(loss.item<double>())) return;
  const auto bad = [](const Tensor& t) {
    return !torch::isfinite(t).all().item<bool>();
  };
  std::string culprit;
  if (bad(embeddings)) {
    culprit = "embeddings";
  } else if (bad(loss)) {
    culprit = "loss";
  } else {
    for (const auto& [name, parameter] : optimizer_->parameters()) {
      if (culprit.empty() && parameter.grad().defined() &&
          bad(parameter.grad())) {
        culprit = "gradient of " + name;
      }
    }
  }
  if (culprit.empty()) culprit = "norm of the gradient";
  std::string paths;
  for (int64_t index : batch.indices) {
    paths += data_.list().items[static_cast<size_t>(index)].path + "\n";
  }
  const std::string file = folder_ + "/bad_batch.txt";
  write_file_atomically(file, paths);
  throw RunError("step " + std::to_string(state_->step + 1) +
                 ": NaN or infinity in the " + culprit +
                 "; the images of the batch are listed in " + file +
                 ". A smaller learning rate or train.clip_norm often helps.");
}

EmbeddedSplit Trainer::embed_now() {
  const EmbedOptions options{
      config_.eval.batch,
      {worker_count(config_.train.workers), config_.train.prefetch}};
  return embed_split(*net_, data_, eval_split(config_.eval, data_.list()),
                     *protocol_, options, progress_);
}

EvalResult Trainer::evaluate_now() {
  return evaluate(embed_now().scored, parse_metrics(config_.eval.metrics));
}

EvalResult Trainer::record_evaluation(RunLog& log) {
  const EvalResult result = evaluate_now();
  const double value = result.at(config_.eval.best);
  const std::string json = eval_json(result);
  log.write_eval(state_->step, json);
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
  save_checkpoint(folder_ + "/checkpoints/" + name + ".safetensors", *net_,
                  with_optimizer ? optimizer_.get() : nullptr, config_.tree,
                  with_optimizer ? state_->dump() : "");
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

double Trainer::synchronised_lap(Timer& timer) const {
  if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
  return timer.lap();
}

}  // namespace kith
