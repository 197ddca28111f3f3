#include "kith/train/trainer_parts.h"

#include <string>
#include <typeinfo>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "kith/train/settle_options.h"

namespace kith {
namespace {

/// The part that a configuration without this section has.
template <class Base, class... Args>
void put_usual(PartChoice<Base, Args...>& choice,
               const Registry<Base, Args...>& registry, const char* section,
               const char* name) {
  if (choice) return;
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(name));
  choice = {registry, node, section};
}

/// Data that were made in C++: of a class of kith the name is known.
ConfigNode data_section(const DataSet& data) {
  const std::string name = data_set_registry().name_of(typeid(data));
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(name.empty() ? "own" : name));
  section.set("made", ConfigNode::text("in C++"));
  return section;
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

}  // namespace

Training make_training(const RunConfig& config) {
  TrainerParts parts;
  const auto seed = static_cast<uint64_t>(config.train.seed);
  torch::manual_seed(Rng(seed, Stream::kInit).next());
  parts.net = std::make_shared<EmbeddingNet>(config.section("model"));
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

Training complete_training(TrainerParts parts, const DataSet& data) {
  if (!parts.net) throw ConfigError("a training needs a network");
  put_usual(parts.loss, loss_registry(), "loss", "recall_at_k");
  put_usual(parts.sampler, sampler_registry(), "sampler", "class_balanced");
  put_usual(parts.optimizer, optimizer_registry(), "optimizer", "adam");
  put_usual(parts.schedule, schedule_registry(), "schedule", "constant");
  RunConfig config;
  config.train = checked(parts.train, "train");
  config.eval = checked(parts.eval, "eval");
  config.log = checked(parts.log, "log");
  ConfigNode& tree = config.tree;
  tree = ConfigNode::map();
  tree.set("data", data_section(data));
  tree.set("sampler", parts.sampler.section(sampler_registry()));
  tree.set("augment", augment_section(parts.augment));
  tree.set("model", parts.net->section());
  tree.set("loss", parts.loss.section(loss_registry()));
  tree.set("miner", parts.miner.section(miner_registry()));
  tree.set("optimizer", parts.optimizer.section(optimizer_registry()));
  tree.set("schedule", parts.schedule.section(schedule_registry()));
  tree.set("train", write_options(config.train));
  ConfigNode user = ConfigNode::map();  // in which all of `eval` is given
  user.set("eval", write_options(config.eval));
  settle_eval(user, tree.find("data")->find("name")->scalar, config.eval);
  tree.set("eval", write_options(config.eval));
  tree.set("log", write_options(config.log));
  check_options(user, config.train, config.eval);
  return {std::move(config), std::move(parts)};
}

}  // namespace kith
