#include "kith/train/objective.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/rng.h"
#include "kith/losses/nested_loss.h"
#include "kith/models/head.h"
#include "kith/ops/pairwise.h"
#include "kith/train/loss_needs.h"

namespace kith {
namespace {

const std::string& name_of(const RunConfig& config, const char* section) {
  return config.section(section).find("name")->scalar;
}

std::string tuples_text(const std::vector<int64_t>& widths) {
  const char* const names[] = {"pairs", "triplets", "quadruplets"};
  std::string text;
  for (int64_t width : widths) {
    text += (text.empty() ? "" : " or ") + std::string(names[width - 2]);
  }
  return text;
}

}  // namespace

std::shared_ptr<Loss> make_run_loss(
    const RunConfig& config, const LossContext& context,
    const std::function<std::shared_ptr<Loss>(const LossContext&)>& make) {
  const ConfigNode* head = config.section("model").find("head");
  if (head == nullptr) return make(context);  // a network of the user's own
  const auto options = read_options<HeadOptions>(*head, "model.head");
  const std::vector<int64_t> sizes = nested_sizes(options, context.dim);
  if (sizes.empty()) return make(context);
  std::vector<std::string> words;
  for (const int64_t size : sizes) words.push_back(std::to_string(size));
  log_info("model.head.nested: the loss is the sum of those of the first " +
           join(words) + " numbers");
  return std::make_shared<NestedLoss>(
      NestedSizes{sizes, options.nested_weights, options.l2}, context, make);
}

Objective::Objective(const RunConfig& config, std::shared_ptr<Loss> loss,
                     std::shared_ptr<Miner> miner, int64_t dim,
                     c10::Device device)
    : seed_(static_cast<uint64_t>(config.train.seed)),
      loss_(std::move(loss)),
      miner_(std::move(miner)),
      memory_after_(config.train.memory_after) {
  check(config);
  if (!miner_ && !loss_->tuple_widths().empty()) {
    check_whole_batch(config, dim);
  }
  loss_->to(device);
  for (const auto& [name, parameter] : loss_->named_parameters().pairs()) {
    parameters_.emplace_back("loss." + name, parameter);
  }
  if (config.train.memory > 0) {
    memory_ =
        std::make_unique<CrossBatchMemory>(config.train.memory, dim, device);
  }
}

Objective::Objective(const RunConfig& config, const LossContext& context,
                     c10::Device device)
    : Objective(config,
                make_run_loss(config, context,
                              [&](const LossContext& part) {
                                return loss_registry().make(
                                    config.section("loss"), "loss", part);
                              }),
                config.section("miner").is_map()
                    ? miner_registry().make(config.section("miner"), "miner")
                    : nullptr,
                context.dim, device) {}

void Objective::check(const RunConfig& config) const {
  const std::string& loss = name_of(config, "loss");
  check_loss_needs(config, *loss_);
  if (miner_) {
    const std::vector<int64_t> widths = loss_->tuple_widths();
    if (widths.empty()) {
      throw ConfigError("the loss " + loss +
                        " uses the whole batch: remove 'miner'");
    }
    if (std::count(widths.begin(), widths.end(), miner_->width()) == 0) {
      throw ConfigError("the miner " + name_of(config, "miner") + " gives " +
                        tuples_text({miner_->width()}) + ", but the loss " +
                        loss + " takes " + tuples_text(widths) +
                        "; see kith list miners");
    }
  }
  const TrainOptions& train = config.train;
  if (train.memory > 0 && (miner_ || !loss_->takes_database())) {
    throw ConfigError("'train.memory' is for losses on rows of similarities, " +
                      std::string("and ") + loss +
                      " takes no examples from outside the batch: set it to 0 "
                      "or use another loss, such as recall_at_k");
  }
  const ConfigNode* option = config.section("loss").find("simix");
  const bool simix = option != nullptr && option->scalar == "true";
  if (miner_ && simix) {
    throw ConfigError(
        "'loss.simix' is for all pairs of the batch: set 'miner' to null");
  }
  if (train.memory > 0 && simix) {
    throw ConfigError(
        "'train.memory' and 'loss.simix' do not go together: virtual examples "
        "are made within a batch");
  }
  if (train.memory > 0 && train.mixup > 0) {
    throw ConfigError(
        "'train.memory' and 'train.mixup' do not go together: a mixed "
        "embedding has no class to be remembered under");
  }
}

LossOutput Objective::compute(const ObjectiveInput& input) const {
  LossOutput output = compute_with(input, input.labels, 0);
  if (!input.other_labels.defined()) return output;
  const LossOutput other = compute_with(input, input.other_labels, 1);
  output.value = input.share * output.value + (1 - input.share) * other.value;
  return output;
}

/// A loss that needs tuples says so on any batch, also on an empty one.
void Objective::check_whole_batch(const RunConfig& config, int64_t dim) const {
  try {
    (*loss_)(torch::empty({0, dim}), torch::empty({0}, at::kLong));
  } catch (const c10::ValueError& error) {
    throw ConfigError("the loss " + name_of(config, "loss") +
                      " without 'miner': " + error.what_without_backtrace());
  }
}

/// `entry`: which of an example's labels these are.
LossOutput Objective::compute_with(const ObjectiveInput& input,
                                   const Tensor& labels, int64_t entry) const {
  const auto rng = [&](Stream stream) {
    return entry == 0
               ? Rng(seed_, stream, {input.epoch, input.step_in_epoch})
               : Rng(seed_, stream, {input.epoch, input.step_in_epoch, entry});
  };
  LossInput loss;
  loss.embeddings = input.embeddings;
  loss.labels = labels;
  loss.lanes = input.lanes;
  loss.seed = rng(Stream::kSimix).next();
  if (miner_) {
    Rng draws = rng(Stream::kMiner);
    // Miners compare unit vectors, also for a loss on embeddings of any length.
    const Tensor x = input.embeddings.detach();
    loss.tuples =
        (*miner_)(loss_->wants_unit() ? x : normalize_rows(x), labels, draws);
  }
  if (memory_ && input.epoch >= memory_after_) {
    loss.database = memory_->with(input.embeddings, labels);
  }
  // Labels, tuples and memory are right by construction.
  LossOutput output = loss_->unchecked(loss);
  if (loss.tuples.defined()) {
    output.stats.emplace_back("tuples",
                              static_cast<double>(loss.tuples.size(0)));
  }
  return output;
}

void Objective::remember(const ObjectiveInput& input) {
  if (memory_) memory_->push(input.embeddings.detach(), input.labels);
}

NamedTensors Objective::state() const {
  NamedTensors all = parameters_;
  if (memory_) {
    for (const auto& [name, tensor] : memory_->state()) {
      all.emplace_back("memory." + name, tensor);
    }
  }
  return all;
}

}  // namespace kith
