#include "kith/train/pretrained_defaults.h"

#include <algorithm>
#include <utility>

#include "kith/core/options.h"
#include "kith/data/augmentations.h"
#include "kith/data/input.h"
#include "kith/train/optimizers.h"

namespace kith {
namespace {

constexpr double kPretrainedRate = 1e-4;
constexpr double kLeastCrop = 0.16;

/// An entry within sections; null if one of these is not there.
const ConfigNode* find_key(const ConfigNode& user,
                           const std::vector<std::string>& path) {
  const ConfigNode* node = &user;
  for (const std::string& key : path) {
    node = node->is_map() ? node->find(key) : nullptr;
    if (node == nullptr) return nullptr;
  }
  return node;
}

bool has_weights(const ConfigNode& user) {
  const ConfigNode* weights = find_key(user, {"model", "weights"});
  return weights != nullptr && !weights->scalar.empty();
}

template <class Options>
ConfigNode named_part(const char* name, const Options& options) {
  ConfigNode part = ConfigNode::map();
  part.set("name", ConfigNode::text(name));
  merge_config(part, write_options(options));
  return part;
}

InputOptions input_of(const ConfigNode& user) {
  const ConfigNode* section = find_key(user, {"model", "input"});
  return section != nullptr && section->is_map()
             ? read_options<InputOptions>(*section, "model.input")
             : InputOptions();
}

ConfigNode pretrained_augment(const InputOptions& input) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  list.items.push_back(
      named_part("random_resized_crop",
                 RandomResizedCropOptions{.size = input.size,
                                          .scale = {kLeastCrop, 1.0},
                                          .filter = input.filter}));
  list.items.push_back(named_part("flip", FlipOptions{}));
  return list;
}

/// The section `optimizer` if it is a map or can become one; else it is wrong
/// and told elsewhere.
ConfigNode* optimizer_section(ConfigNode& user) {
  ConfigNode* section = user.find("optimizer");
  if (section == nullptr) {
    ConfigNode empty = ConfigNode::map();
    empty.where = user.where;
    section = &user.set("optimizer", std::move(empty));
  }
  if (section->kind == ConfigNode::Kind::kNull) {
    section->kind = ConfigNode::Kind::kMap;
  }
  return section->is_map() ? section : nullptr;
}

bool is_adam(const ConfigNode& optimizer) {
  const ConfigNode* name = optimizer.find("name");
  return name == nullptr || name->scalar == "adam" || name->scalar == "adamw";
}

}  // namespace

std::vector<std::string> take_pretrained_defaults(ConfigNode& user) {
  std::vector<std::string> taken;
  if (!user.is_map() || !has_weights(user)) return taken;
  const InputOptions input = input_of(user);
  if (user.find("augment") == nullptr && !input.any_shape()) {
    user.set("augment", pretrained_augment(input));
    taken.emplace_back("augment");
  }
  if (ConfigNode* optimizer = optimizer_section(user)) {
    if (optimizer->find("name") == nullptr) {
      optimizer->set("name", ConfigNode::text("adamw"));
      taken.emplace_back("optimizer.name");
    }
    if (optimizer->find("lr") == nullptr && is_adam(*optimizer)) {
      const ConfigNode rate =
          write_options(AdamWOptions{.lr = kPretrainedRate});
      optimizer->set("lr", *rate.find("lr"));
      taken.emplace_back("optimizer.lr");
    }
  }
  for (const char* key : {"mean", "std"}) {
    if (find_key(user, {"model", "input", key}) == nullptr) {
      taken.push_back(std::string("model.input.") + key);
    }
  }
  return taken;
}

std::string pretrained_defaults_text(const RunConfig& config) {
  const std::vector<std::string>& taken = config.pretrained_defaults;
  const auto has = [&](const char* key) {
    return std::find(taken.begin(), taken.end(), key) != taken.end();
  };
  std::vector<std::string> parts;
  if (taken.empty()) return "";
  if (has("augment")) {
    std::vector<std::string> steps;
    for (const ConfigNode& step : config.section("augment").items) {
      steps.push_back(step.find("name")->scalar);
    }
    parts.push_back("augment: " + join(steps, " and "));
  }
  const ConfigNode& optimizer = config.section("optimizer");
  if (has("optimizer.name")) {
    parts.push_back("optimizer.name: " + optimizer.find("name")->scalar);
  }
  if (has("optimizer.lr")) {
    parts.push_back("optimizer.lr: " + optimizer.find("lr")->scalar);
  }
  for (const char* key : {"mean", "std"}) {
    const std::string name = std::string("model.input.") + key;
    if (!has(name.c_str())) continue;
    std::vector<std::string> values;
    const ConfigNode& input = *config.section("model").find("input");
    for (const ConfigNode& value : input.find(key)->items) {
      values.push_back(value.scalar);
    }
    if (!values.empty()) parts.push_back(name + ": [" + join(values) + "]");
  }
  if (parts.empty()) return "";
  return "took " + join(parts, "; ") +
         ", because the network starts from pretrained weights and the "
         "configuration does not say otherwise";
}

void keep_begun_defaults(const ConfigNode& begun, ConfigNode& user) {
  ConfigNode open = user;
  for (const std::string& key : take_pretrained_defaults(open)) {
    if (key == "augment") {
      const ConfigNode* steps = begun.find("augment");
      if (steps != nullptr) user.set("augment", *steps);
    } else if (key == "optimizer.name" || key == "optimizer.lr") {
      const std::string option = key.substr(key.find('.') + 1);
      const ConfigNode* value = find_key(begun, {"optimizer", option});
      if (value != nullptr) optimizer_section(user)->set(option, *value);
    }
  }
}

}  // namespace kith
