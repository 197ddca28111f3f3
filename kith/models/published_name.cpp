#include "kith/models/published_name.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/core/quote.h"
#include "kith/models/backbone.h"
#include "kith/models/published_config.h"

namespace kith {
namespace {

std::vector<PublishedName>& all_published_names() {
  static std::vector<PublishedName> all;
  return all;
}

/// Options for which timm's networks have an argument.
constexpr std::pair<const char*, const char*> kTimmArguments[] = {
    {"bn_eps", "bn_eps"},
    {"eps", "norm_eps"},
    {"last_eps", "norm_eps"},
    {"activation", "act_layer"}};

const char* timm_argument(const std::string& option) {
  for (const auto& [ours, theirs] : kTimmArguments) {
    if (option == ours) return theirs;
  }
  return nullptr;
}

/// Whether networks that differ in an option alone can have the same weights
/// and give the same for a picture of one size.
bool is_free(const std::string& option, const ConfigNode& ours,
             const ConfigNode& theirs) {
  static const std::set<std::string> free = {
      "dropout", "drop_path", "bn_momentum", "grid", "interpolation",
      // Of the map behind the network's last layers.
      "norm_map",
      // Classes of timm's network, of which it may have any number.
      "projection"};
  // What learnt scales start from.
  const bool is_scale =
      option == "layer_scale" && ours.scalar != "0" && theirs.scalar != "0";
  return is_scale || free.contains(option);
}

/// Another library's network beside ours.
struct Comparison {
  PublishedName network;
  bool has_our_name = false;                  ///< kith calls both the same.
  std::vector<std::string> differences = {};  ///< "'stride' (1x1, there 3x3)"
};

ConfigNode named_section(const std::string& name) {
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(name));
  return section;
}

std::string value_text(const ConfigNode& value) {
  std::string text = to_yaml(value);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Comparison compared(const ConfigNode& ours, const PublishedName& network) {
  const bool is_timm = network.library == "timm";
  const ConfigNode theirs = backbone_registry().complete(
      is_timm ? timm_section(network.name) : named_section(network.name),
      "model.backbone");
  Comparison comparison{network};
  comparison.has_our_name =
      ours.find("name")->scalar == theirs.find("name")->scalar;
  ConfigNode& arguments = comparison.network.arguments;
  std::set<std::string> settled;  // arguments, by the first of their options
  for (const auto& [option, value] : ours.entries) {
    if (option == "name" || is_free(option, value, *theirs.find(option))) {
      continue;
    }
    const std::string text = value_text(value);
    std::string there = value_text(*theirs.find(option));
    const char* argument = is_timm ? timm_argument(option) : nullptr;
    if (argument != nullptr && settled.insert(argument).second) {
      if (there != text) arguments.set(argument, value);
      continue;
    }
    if (argument != nullptr && arguments.find(argument) != nullptr) {
      there = value_text(*arguments.find(argument));
    }
    if (there == text) continue;
    comparison.differences.push_back(quote(option) + " (" + text + ", there " +
                                     there + ")");
  }
  return comparison;
}

/// Fewer differences, the network of the same name, fewer arguments.
bool is_nearer(const Comparison& a, const Comparison& b) {
  const auto rank = [](const Comparison& c) {
    return std::tuple(c.differences.size(), !c.has_our_name,
                      c.network.arguments.entries.size());
  };
  return rank(a) < rank(b);
}

}  // namespace

bool add_published_name(PublishedName name) {
  all_published_names().push_back(std::move(name));
  return true;
}

ConfigNode timm_section(const std::string& name) {
  ConfigNode section = named_section(name);
  const ConfigNode difference =
      timm_difference(backbone_registry().own_name(name));
  if (difference.is_map()) merge_config(section, difference);
  return section;
}

PublishedName published_name(const ConfigNode& backbone) {
  const auto& registry = backbone_registry();
  const std::string name = backbone.find("name")->scalar;
  const auto& entry = registry.at(name, "");
  std::vector<Comparison> all;
  for (const PublishedName& network : all_published_names()) {
    const auto& other = registry.at(network.name, "");
    if (*other.type != *entry.type) continue;
    all.push_back(compared(backbone, network));
  }
  const std::string instead =
      "; export it without option 'huggingface', or with option 'onnx'";
  if (all.empty()) {
    throw ConfigError("neither timm nor torchvision has the backbone " +
                      quote(name) + instead);
  }
  const Comparison& best = *std::min_element(all.begin(), all.end(), is_nearer);
  if (best.differences.empty()) return best.network;
  throw ConfigError("neither timm nor torchvision has this " + quote(name) +
                    ": " + best.network.library + "'s " + best.network.name +
                    ", which is nearest, differs in " +
                    best.differences.front() + instead);
}

}  // namespace kith
