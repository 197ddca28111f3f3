#include "kith/train/told_defaults.h"

#include <algorithm>

#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/train/pretrained_defaults.h"

namespace kith {
namespace {

constexpr const char* kToldKeys[] = {"loss.name",
                                     "model.input.colour",
                                     "model.input.size",
                                     "model.head.l2",
                                     "miner",
                                     "augment",
                                     "model.weights"};

/// The entry of a key such as "model.input.size"; null if it is not there.
const ConfigNode* entry_of(const ConfigNode& tree, const std::string& key) {
  const ConfigNode* node = &tree;
  for (size_t begin = 0; begin < key.size();) {
    const size_t end = std::min(key.find('.', begin), key.size());
    node =
        node->is_map() ? node->find(key.substr(begin, end - begin)) : nullptr;
    if (node == nullptr) return nullptr;
    begin = end + 1;
  }
  return node;
}

bool is_left_to_weights(const RunConfig& config, const std::string& key) {
  const std::vector<std::string>& taken = config.pretrained_defaults;
  return std::find(taken.begin(), taken.end(), key) != taken.end();
}

/// The value of a key as a line tells it; empty if other lines do.
std::string told_value(const RunConfig& config, const std::string& key) {
  const ConfigNode* node = entry_of(config.tree, key);
  if (node == nullptr || is_left_to_weights(config, key)) return "";
  if (key == "model.input.size") {
    const ConfigNode* side = entry_of(config.tree, "model.input.long_side");
    if (side != nullptr && side->scalar != "0") return "";  // takes its place
  }
  if (key == "model.head.l2" && node->scalar == "false") return "";
  if (key == "model.weights") {
    return config.train.init_from.empty() && node->scalar.empty()
               ? "none, so the network starts untrained"
               : "";
  }
  if (key == "augment") return node->items.empty() ? "none" : "";
  if (key == "miner") {
    const ConfigNode* name = node->is_map() ? node->find("name") : nullptr;
    return name == nullptr ? "none" : name->scalar;
  }
  return node->scalar;
}

}  // namespace

std::vector<std::string> find_open_keys(const ConfigNode& user) {
  std::vector<std::string> open;
  for (const char* key : kToldKeys) {
    if (entry_of(user, key) == nullptr) open.emplace_back(key);
  }
  return open;
}

std::string defaults_text(const RunConfig& config) {
  std::vector<std::string> parts;
  for (const std::string& key : config.open_keys) {
    const std::string value = told_value(config, key);
    if (!value.empty()) parts.push_back(key + ": " + value);
  }
  return parts.empty() ? "" : "from defaults: " + join(parts, "; ");
}

void log_defaults(const RunConfig& config) {
  for (const std::string& text : {defaults_text(config), config.weights_config,
                                  pretrained_defaults_text(config)}) {
    if (!text.empty()) log_info(text);
  }
}

}  // namespace kith
