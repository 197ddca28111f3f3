#include "kith/train/pretrained_defaults.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "kith/core/options.h"
#include "kith/data/augmentations.h"
#include "kith/data/input.h"
#include "kith/models/pretrained_input.h"
#include "kith/train/optimizers.h"
#include "kith/train/weights_config.h"

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

/// "model.input.size" -> model, input, size
std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> path;
  std::istringstream words(key);
  for (std::string word; std::getline(words, word, '.');) path.push_back(word);
  return path;
}

/// How the published weights of the backbone are used: keys of `model` and
/// their values. Nothing of what the backbone leaves open.
std::vector<std::pair<std::vector<std::string>, std::string>> usual_keys(
    const ConfigNode& user) {
  std::vector<std::pair<std::vector<std::string>, std::string>> keys;
  const ConfigNode* backbone = find_key(user, {"model", "backbone"});
  if (backbone == nullptr || !backbone->is_map()) return keys;
  const PretrainedInput usual = pretrained_input(*backbone);
  if (usual.size > 0 && !input_of(user).any_shape()) {
    keys.push_back({{"model", "input", "size"}, std::to_string(usual.size)});
  }
  if (!usual.filter.empty()) {
    keys.push_back({{"model", "input", "filter"}, usual.filter});
  }
  if (!usual.pooling.empty()) {
    keys.push_back({{"model", "head", "pooling"}, usual.pooling});
  }
  return keys;
}

/// Takes those that the user left open.
void take_usual_keys(ConfigNode& user, std::vector<std::string>& taken) {
  for (const auto& [path, value] : usual_keys(user)) {
    if (find_key(user, path) != nullptr) continue;
    ConfigNode* section = open_section(*user.find("model"), path[1].c_str());
    if (section == nullptr) continue;
    section->set(path[2], ConfigNode::text(value));
    taken.push_back(join(path, "."));
  }
}

bool is_adam(const ConfigNode& optimizer) {
  const ConfigNode* name = optimizer.find("name");
  return name == nullptr || name->scalar == "adam" || name->scalar == "adamw";
}

}  // namespace

std::vector<std::string> take_pretrained_defaults(ConfigNode& user) {
  std::vector<std::string> taken;
  if (!user.is_map() || !has_weights(user)) return taken;
  take_usual_keys(user, taken);
  const InputOptions input = input_of(user);
  if (user.find("augment") == nullptr && !input.any_shape()) {
    user.set("augment", pretrained_augment(input));
    taken.emplace_back("augment");
  }
  if (ConfigNode* optimizer = open_section(user, "optimizer")) {
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
  for (const char* key :
       {"model.input.size", "model.input.filter", "model.head.pooling"}) {
    if (!has(key)) continue;
    const std::string name = key;
    const size_t dot = name.rfind('.');
    const ConfigNode* section =
        config.section("model").find(name.substr(6, dot - 6));
    parts.push_back(name + ": " + section->find(name.substr(dot + 1))->scalar);
  }
  if (parts.empty()) return "";
  return "took " + join(parts, "; ") +
         ", because the network starts from pretrained weights and the "
         "configuration does not say otherwise";
}

void keep_begun_defaults(const ConfigNode& begun, ConfigNode& user) {
  ConfigNode open = user;
  for (const std::string& key : take_pretrained_defaults(open)) {
    if (key == "model.input.mean" || key == "model.input.std") continue;
    const std::vector<std::string> path = split_key(key);
    const ConfigNode* value = find_key(begun, path);
    ConfigNode* section = &user;
    for (size_t i = 0; i + 1 < path.size() && section != nullptr; ++i) {
      section = open_section(*section, path[i].c_str());
    }
    if (value != nullptr && section != nullptr) {
      section->set(path.back(), *value);
    }
  }
}

}  // namespace kith
