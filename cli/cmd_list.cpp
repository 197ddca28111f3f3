#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/data/augment.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/backbone.h"
#include "kith/samplers/sampler.h"
#include "kith/train/optimizer.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// A part as it is shown, whatever registry it comes from.
struct Part {
  std::string name;
  std::string summary;
  std::vector<OptionInfo> options;
};

template <class Parts>
std::vector<Part> parts_of(const Parts& registry) {
  std::vector<Part> parts;
  for (const auto& [name, entry] : registry.entries()) {
    parts.push_back({name, entry.summary, entry.options()});
  }
  return parts;
}

using Lister = std::vector<Part> (*)();

const std::vector<std::pair<std::string, Lister>>& listers() {
  static const std::vector<std::pair<std::string, Lister>> all = {
      {"losses", [] { return parts_of(loss_registry()); }},
      {"miners", [] { return parts_of(miner_registry()); }},
      {"samplers", [] { return parts_of(sampler_registry()); }},
      {"backbones", [] { return parts_of(backbone_registry()); }},
      {"datasets", [] { return parts_of(data_set_registry()); }},
      {"augmentations", [] { return parts_of(augmentation_registry()); }},
      {"optimizers", [] { return parts_of(optimizer_registry()); }},
      {"schedules", [] { return parts_of(schedule_registry()); }},
      {"metrics", [] { return parts_of(metric_registry()); }},
      {"protocols", [] { return parts_of(protocol_registry()); }}};
  return all;
}

/// YAML of a default on one line.
std::string shown(const ConfigNode& value) {
  std::string text = to_yaml(value);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void print_parts(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    std::printf("%s: %s\n", part.name.c_str(), part.summary.c_str());
    for (const OptionInfo& o : part.options) {
      const std::string head = o.name + " = " + shown(o.default_value);
      std::printf("  %-28s %s [%s%s]\n", head.c_str(), o.help.c_str(),
                  o.type.c_str(),
                  o.constraint.empty() ? "" : (", " + o.constraint).c_str());
    }
  }
}

Json to_json(const std::vector<Part>& parts) {
  Json list = Json::array();
  for (const Part& part : parts) {
    Json options = Json::array();
    for (const OptionInfo& o : part.options) {
      options.push_back({{"name", o.name},
                         {"type", o.type},
                         {"default", shown(o.default_value)},
                         {"allowed", o.constraint},
                         {"help", o.help}});
    }
    list.push_back(
        {{"name", part.name}, {"summary", part.summary}, {"options", options}});
  }
  return list;
}

}  // namespace

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand(
      "list", "What can be named in a configuration, with its options");
  auto kind = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  std::vector<std::string> kinds;
  for (const auto& [name, lister] : listers()) kinds.push_back(name);
  command->add_option("kind", *kind, "What to list")
      ->required()
      ->check(one_of(kinds));
  command->add_flag("--json", *json, "One JSON object on standard output");
  command->callback([kind, json] {
    for (const auto& [name, lister] : listers()) {
      if (name != *kind) continue;
      if (*json) {
        print_line(Json({{name, to_json(lister())}}).dump(2));
      } else {
        print_parts(lister());
      }
    }
  });
}

}  // namespace kith
