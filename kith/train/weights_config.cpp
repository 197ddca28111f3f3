#include "kith/train/weights_config.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/models/published_network.h"
#include "kith/run/run_place.h"

namespace kith {
namespace {

bool leaves_open(const ConfigNode& model) {
  if (model.find("backbone") == nullptr) return true;
  const ConfigNode* input = model.find("input");
  if (input == nullptr || !input->is_map()) return true;
  constexpr const char* kKeys[] = {"size", "resize", "filter", "mean", "std"};
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const char* key) {
    return input->find(key) == nullptr;
  });
}

/// Numbers of the channels red, green and blue for pictures of another colour.
void fit_colour(const std::string& colour, ConfigNode& list) {
  if (colour == "bgr") std::reverse(list.items.begin(), list.items.end());
  if (colour != "grey" || list.items.empty()) return;
  std::vector<double> values;
  for (const ConfigNode& item : list.items) {
    values.push_back(std::stod(item.scalar));
  }
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) /
                      static_cast<double>(values.size());
  double written = mean;
  OptionSet set;
  set.add("mean", written, "");
  list.items = {*set.write().find("mean")};
}

std::string one_line(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::kScalar) return node.scalar;
  std::vector<std::string> parts;
  for (const ConfigNode& item : node.items) parts.push_back(one_line(item));
  for (const auto& [key, value] : node.entries) {
    parts.push_back(key == "name" ? value.scalar : key + " " + one_line(value));
  }
  return node.is_map() ? join(parts) : "[" + join(parts) + "]";
}

}  // namespace

WeightFiles weight_files_of(const ConfigNode& config) {
  const ConfigNode* model = config.find("model");
  const ConfigNode* weights =
      model == nullptr ? nullptr : model->find("weights");
  if (weights == nullptr || weights->scalar.empty()) return {};
  try {
    const std::string path = run_path(config, "model.weights", weights->scalar);
    return path_exists(path) ? find_weight_files(path) : WeightFiles{};
  } catch (const MissingPath&) {
    return {};
  }
}

ConfigNode* open_section(ConfigNode& parent, const char* key) {
  ConfigNode* section = parent.find(key);
  if (section == nullptr) {
    ConfigNode empty = ConfigNode::map();
    empty.where = parent.where;
    section = &parent.set(key, std::move(empty));
  }
  if (section->kind == ConfigNode::Kind::kNull) {
    section->kind = ConfigNode::Kind::kMap;
  }
  return section->is_map() ? section : nullptr;
}

std::string take_weights_config(ConfigNode& user) {
  ConfigNode* model = user.is_map() ? user.find("model") : nullptr;
  if (model == nullptr || !model->is_map() || !leaves_open(*model)) return "";
  const WeightFiles files = weight_files_of(user);
  if (files.config.empty() && files.preprocessing.empty()) return "";
  PublishedNetwork network = describe_published(files, *model);
  std::vector<std::string> taken;
  if (network.backbone.is_map()) {
    taken.push_back("model.backbone: " + one_line(network.backbone));
    network.backbone.where = files.config;
    model->set("backbone", std::move(network.backbone));
  }
  ConfigNode* input = open_section(*model, "input");
  if (input != nullptr && !network.input.entries.empty()) {
    const ConfigNode* own = input->find("colour");
    const bool is_open = own == nullptr || own->scalar == "auto";
    const std::string colour = is_open ? "rgb" : own->scalar;
    if (is_open) network.input.set("colour", ConfigNode::text(colour));
    for (auto& [key, value] : network.input.entries) {
      if (key == "mean" || key == "std") fit_colour(colour, value);
      taken.push_back("model.input." + key + ": " + one_line(value));
      input->set(key, std::move(value));
    }
  }
  if (taken.empty()) return "";
  std::vector<std::string> sources;
  for (const std::string& file : {files.config, files.preprocessing}) {
    if (!file.empty()) sources.push_back(file);
  }
  return "took " + join(taken, "; ") + " from " + join(sources, " and ") +
         ", because the configuration does not say otherwise";
}

}  // namespace kith
