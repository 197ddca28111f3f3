#include "kith/train/loss_needs.h"

#include <string>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/losses/unit_embeddings.h"

namespace kith {
namespace {

using KeyPath = std::vector<const char*>;
const KeyPath kUnit = {"model", "head", "l2"};
const KeyPath kOwnUnit = {"model", "l2"};  ///< Of a user's own network.
const KeyPath kPerClass = {"sampler", "per_class"};

const ConfigNode* find(const ConfigNode& tree, const KeyPath& path) {
  const ConfigNode* node = &tree;
  for (const char* key : path) {
    node = node != nullptr && node->is_map() ? node->find(key) : nullptr;
  }
  return node;
}

ConfigNode* find(ConfigNode& tree, const KeyPath& path) {
  return const_cast<ConfigNode*>(find(std::as_const(tree), path));
}

/// "run.yaml:12: ", or nothing for what no user has written.
std::string place_of(const ConfigNode& node) {
  return node.where.empty() ? "" : node.where + ": ";
}

void check_head(const RunConfig& config, const Loss& loss,
                const std::string& name) {
  const ConfigNode* head = find(config.tree, kUnit);
  const ConfigNode& l2 = head ? *head : *find(config.tree, kOwnUnit);
  const bool is_unit = l2.scalar == "true";
  if (loss.wants_unit() && !is_unit && head == nullptr) {
    // It may make them so itself.
    log_warning("the loss " + name +
                " is defined on unit vectors: the network must make its "
                "embeddings so, for OwnNetworkOptions::l2 is false");
    return;
  }
  if (loss.wants_unit() && !is_unit) {
    throw ConfigError(place_of(l2) + "the loss " + name +
                      " is defined on unit vectors, and 'model.head.l2' is "
                      "false: set it to true, or leave it out");
  }
  if (loss.wants_unit()) return;
  if (is_unit) {
    log_warning("the loss " + name +
                " is defined on embeddings of any length, and model.head.l2: "
                "true makes them unit vectors; without it the loss is as "
                "published");
  } else {
    log_info("the loss " + name +
             " is defined on embeddings of any length: model.head.l2 is "
             "false");
  }
}

void check_sampler(const RunConfig& config, const Loss& loss,
                   const std::string& name) {
  const ConfigNode* per_class = find(config.tree, kPerClass);
  if (!loss.needs_positives() || per_class == nullptr ||
      per_class->scalar != "1" || config.train.memory > 0) {
    return;
  }
  throw ConfigError(
      place_of(*per_class) + "the loss " + name +
      " compares images of one class, and with 'sampler.per_class' = 1 a "
      "batch has none by intention: set it to 2 or more, or use "
      "'sampler.name: uniform' for images drawn whatever their class");
}

}  // namespace

void fit_head_to_loss(const ConfigNode& user, ConfigNode& tree) {
  for (const KeyPath& path : {kUnit, kPerClass}) {
    const ConfigNode* given = find(user, path);
    ConfigNode* complete = find(tree, path);
    if (given != nullptr && complete != nullptr) complete->where = given->where;
  }
  if (find(user, kUnit) != nullptr) return;
  const bool unit = takes_unit(*example_loss(*tree.find("loss")));
  find(tree, kUnit)->scalar = unit ? "true" : "false";
}

std::string usual_miner(const std::string& loss) {
  if (!loss_registry().contains(loss)) return "";
  return loss_registry().at(loss, "loss").traits.miner;
}

void fit_loss_to_miner(const ConfigNode& user, ConfigNode& tree) {
  const ConfigNode* named = tree.find("miner")->find("name");
  const std::string name = tree.find("loss")->find("name")->scalar;
  if (named == nullptr || !loss_registry().contains(name)) return;
  const std::string miner = named->scalar;
  const ConfigNode* given = user.find("loss");
  const LossTraits& traits = loss_registry().at(name, "loss").traits;
  for (const auto& [of, option, value] : traits.with_miner) {
    if (of == nullptr) return;
    const bool is_set = given != nullptr && given->find(option) != nullptr;
    if (miner != of || is_set) continue;
    apply_override(tree, std::string("loss.") + option + "=" + value);
  }
}

void check_loss_needs(const RunConfig& config, const Loss& loss) {
  const std::string& name = config.section("loss").find("name")->scalar;
  check_head(config, loss, name);
  check_sampler(config, loss, name);
}

}  // namespace kith
