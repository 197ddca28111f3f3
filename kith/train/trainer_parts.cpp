#include "kith/train/trainer_parts.h"

#include <string>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "kith/run/run_place.h"
#include "kith/train/loss_needs.h"
#include "kith/train/settle_options.h"
#include "kith/train/weights_config.h"

namespace kith {
namespace {

/// The part that a configuration without this section has.
template <class Base, class... Args>
void put_usual(PartChoice<Base, Args...>& choice,
               const Registry<Base, Args...>& registry, const char* section,
               const char* name) {
  if (choice) {
    if (choice.section(registry).is_map()) return;
    throw ConfigError("'" + std::string(section) + "' must not be nullptr");
  }
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(name));
  choice = {registry, node, section};
}

/// As a configuration has it: the miner that the loss is published with, and
/// the options of the loss that go with its miner.
void put_miner(TrainerParts& parts, ConfigNode& tree) {
  ConfigNode given = *tree.find("loss");
  const std::string loss = given.find("name")->scalar;
  const std::string usual = usual_miner(loss);
  if (!parts.miner && !usual.empty()) {
    put_usual(parts.miner, miner_registry(), "miner", usual.c_str());
  }
  tree.set("miner", parts.miner.section(miner_registry()));
  if (!loss_registry().contains(loss) || given.find("made") != nullptr) return;
  ConfigNode usual_loss = ConfigNode::map();
  usual_loss.set("name", ConfigNode::text(loss));
  usual_loss = loss_registry().complete(usual_loss, "loss");
  std::erase_if(given.entries, [&](const auto& entry) {
    return to_yaml(entry.second) == to_yaml(*usual_loss.find(entry.first));
  });
  ConfigNode user = ConfigNode::map();
  user.set("loss", given);
  const std::string before = to_yaml(*tree.find("loss"));
  fit_loss_to_miner(user, tree);
  if (to_yaml(*tree.find("loss")) == before) return;
  parts.loss = {loss_registry(), *tree.find("loss"), "loss"};
}

/// Which classes are held out the data set says; `train` may say the same.
void put_held_out(const HeldOut& data, TrainOptions& train) {
  const HeldOut wanted = {train.validation, train.folds, train.fold};
  if (train.holds_out() && wanted != data) {
    throw ConfigError(
        "'train.validation' or 'train.folds' names other held-out classes "
        "than the data set has: call its hold_out_classes() or "
        "hold_out_fold() before, and leave these options out");
  }
  train.validation = data.share;
  train.folds = data.folds;
  if (!train.holds_out()) return;
  train.fold = data.fold;
  train.final = false;  // this run is the only one
}

ConfigNode augment_section(
    const std::vector<PartChoice<Augmentation>>& augment) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  for (const auto& step : augment) {
    list.items.push_back(step.section(augmentation_registry()));
  }
  return list;
}

/// A folder of weights may say which backbone they are of: it is from
/// elsewhere. What is around it is the user's.
std::shared_ptr<EmbeddingNet> make_net(const RunConfig& config) {
  const ConfigNode& model = config.section("model");
  const WeightFiles files = weight_files_of(config.tree);
  if (files.config.empty()) return std::make_shared<EmbeddingNet>(model);
  std::shared_ptr<Backbone> backbone;
  {
    const TensorLimit limit = limit_network(files.config, files.weights);
    backbone = EmbeddingNet::make_backbone(model);
  }
  return std::make_shared<EmbeddingNet>(model, std::move(backbone));
}

}  // namespace

Training make_training(const RunConfig& config) {
  TrainerParts parts;
  const auto seed = static_cast<uint64_t>(config.train.seed);
  torch::manual_seed(Rng(seed, Stream::kInit).next());
  parts.net = make_net(config);
  parts.loss = {loss_registry(), config.section("loss"), "loss"};
  if (config.section("miner").is_map()) {
    parts.miner = {miner_registry(), config.section("miner"), "miner"};
  }
  parts.sampler = {sampler_registry(), config.section("sampler"), "sampler"};
  for (const auto& step : make_augmentations(config.section("augment"))) {
    parts.augment.emplace_back(step);
  }
  parts.optimizer = {optimizer_registry(), config.section("optimizer"),
                     "optimizer"};
  parts.schedule = {schedule_registry(), config.section("schedule"),
                    "schedule"};
  return {config, std::move(parts)};
}

Training complete_training(TrainerParts parts, const DataSet& data,
                           const std::string& folder) {
  if (!parts.net) throw ConfigError("a training needs a network");
  put_usual(parts.loss, loss_registry(), "loss", "recall_at_k");
  put_usual(parts.sampler, sampler_registry(), "sampler", "class_balanced");
  put_usual(parts.optimizer, optimizer_registry(), "optimizer", "adam");
  put_usual(parts.schedule, schedule_registry(), "schedule", "constant");
  put_held_out(data.held_out(), parts.train);
  RunConfig config;
  config.train = checked(parts.train, "train");
  config.eval = checked(parts.eval, "eval");
  config.log = checked(parts.log, "log");
  ConfigNode& tree = config.tree;
  tree = ConfigNode::map();
  tree.set("data", data.section());
  tree.set("sampler", parts.sampler.section(sampler_registry()));
  tree.set("augment", augment_section(parts.augment));
  tree.set("model", parts.net->section());
  tree.set("loss", parts.loss.section(loss_registry()));
  put_miner(parts, tree);
  tree.set("optimizer", parts.optimizer.section(optimizer_registry()));
  tree.set("schedule", parts.schedule.section(schedule_registry()));
  tree.set("train", write_options(config.train));
  if (config.eval.protocol == EvalOptions().protocol) {
    config.eval.protocol = data.traits().protocol;
  }
  ConfigNode user = ConfigNode::map();  // in which all of `eval` is given
  user.set("eval", write_options(config.eval));
  settle_eval(user, tree.find("data")->find("name")->scalar, config.eval);
  tree.set("eval", write_options(config.eval));
  tree.set("log", write_options(config.log));
  check_options(user, config.train, config.eval);
  record_start(tree, folder);
  return {std::move(config), std::move(parts)};
}

}  // namespace kith
