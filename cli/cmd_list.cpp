#include <cmath>
#include <cstdio>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/list_recipes.h"
#include "cli/objectives_page.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/data/augment.h"
#include "kith/data/corruption.h"
#include "kith/data/data_set.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "kith/index/vector_index.h"
#include "kith/losses/unit_embeddings.h"
#include "kith/miners/miner.h"
#include "kith/models/backbone.h"
#include "kith/samplers/sampler.h"
#include "kith/study/figure.h"
#include "kith/train/optimizer.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

using Lister = std::vector<Part> (*)();

std::vector<Part> list_losses() {
  std::vector<Part> parts = parts_of(loss_registry());
  for (Part& part : parts) {
    ConfigNode section = ConfigNode::map();
    section.set("name", ConfigNode::text(part.name));
    part.embeddings =
        takes_unit(*example_loss(section)) ? "unit vectors" : "of any length";
  }
  return parts;
}

const std::vector<std::pair<std::string, Lister>>& listers() {
  static const std::vector<std::pair<std::string, Lister>> all = {
      {"losses", list_losses},
      {"miners", [] { return parts_of(miner_registry()); }},
      {"samplers", [] { return parts_of(sampler_registry()); }},
      {"backbones", [] { return parts_of(backbone_registry()); }},
      {"datasets", [] { return parts_of(data_set_registry()); }},
      {"augmentations", [] { return parts_of(augmentation_registry()); }},
      {"corruptions", [] { return parts_of(corruption_registry()); }},
      {"optimizers", [] { return parts_of(optimizer_registry()); }},
      {"schedules", [] { return parts_of(schedule_registry()); }},
      {"metrics", [] { return parts_of(metric_registry()); }},
      {"protocols", [] { return parts_of(protocol_registry()); }},
      {"figures", [] { return parts_of(figure_registry()); }},
      {"indexes", [] { return parts_of(vector_index_registry()); }}};
  return all;
}

/// A metric of this name; of one that needs a number, with 1 for it.
std::unique_ptr<Metric> some_metric(const std::string& name) {
  const auto& entry = metric_registry().at(name, "");
  try {
    return entry.make(ConfigNode::map(), "metric", MetricInput{});
  } catch (const ConfigError&) {
    return entry.make(ConfigNode::map(), "metric", MetricInput{1});
  }
}

const char* better_text(Better better) {
  return better == Better::kLarger    ? "larger"
         : better == Better::kSmaller ? "smaller"
                                      : "neither";
}

/// "from 0 to 1, larger is better"
std::string values_text(const std::string& metric) {
  const std::unique_ptr<Metric> some = some_metric(metric);
  const auto* set = dynamic_cast<const SetMetric*>(some.get());
  const MetricRange range = some->range();
  std::ostringstream text;
  text << (set != nullptr && set->is_list() ? "each from " : "from ")
       << range.low << " to ";
  if (std::isfinite(range.high)) {
    text << range.high;
  } else {
    text << "infinity";
  }
  text << ", " << better_text(some->better()) << " is better";
  return text.str();
}

void print_parts(const std::vector<Part>& parts, bool metrics) {
  for (const Part& part : parts) {
    std::printf("%s: %s\n", part.name.c_str(), part.summary.c_str());
    if (metrics) std::printf("  values: %s\n", values_text(part.name).c_str());
    if (!part.embeddings.empty()) {
      std::printf("  embeddings: %s\n", part.embeddings.c_str());
    }
    if (!part.miner.empty()) {
      std::printf("  %-28s unless a configuration names another\n",
                  ("miner: " + part.miner).c_str());
    }
    for (const OptionInfo& o : part.options) {
      const std::string head = o.name + " = " + one_line(o.default_value);
      std::printf("  %-28s %s [%s%s]\n", head.c_str(), o.help.c_str(),
                  o.type.c_str(),
                  o.constraint.empty() ? "" : (", " + o.constraint).c_str());
    }
  }
}

Json facts_json(const Part& part) {
  const PartFacts& facts = part.facts;
  return {{"formula", facts.formula},
          {"source", facts.source},
          {"cost", facts.cost},
          {"golden", split_list(facts.golden)},
          {"miner", part.miner}};
}

/// What scripts need to choose by a metric; an end that is infinite is null.
void add_values(const std::string& metric, Json& json) {
  const std::unique_ptr<Metric> some = some_metric(metric);
  json["range"] = {some->range().low, some->range().high};
  json["better"] = better_text(some->better());
}

Json to_json(const std::vector<Part>& parts, bool metrics) {
  Json list = Json::array();
  for (const Part& part : parts) {
    Json options = Json::array();
    for (const OptionInfo& o : part.options) {
      options.push_back({{"name", o.name},
                         {"type", o.type},
                         {"default", one_line(o.default_value)},
                         {"allowed", o.constraint},
                         {"help", o.help}});
    }
    list.push_back({{"name", part.name},
                    {"summary", part.summary},
                    {"facts", facts_json(part)},
                    {"options", options}});
    if (metrics) add_values(part.name, list.back());
    if (!part.embeddings.empty()) list.back()["embeddings"] = part.embeddings;
  }
  return list;
}

struct ListFlags {
  std::string kind;
  std::string recipes;
  bool json = false;
  bool markdown = false;
};

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const auto& [name, lister] : listers()) names.push_back(name);
  names.emplace_back("recipes");
  return names;
}

void run_list(const ListFlags& flags) {
  if (flags.markdown) {
    const std::string page =
        objectives_page(list_losses(), parts_of(miner_registry()),
                        parts_of(sampler_registry()));
    std::fputs(page.c_str(), stdout);
    return;
  }
  if (flags.kind.empty()) {
    throw ConfigError("kith list needs what to list: one of " + join(kinds()) +
                      "; or --markdown");
  }
  if (flags.kind == "recipes") {
    list_recipes(flags.recipes, flags.json);
    return;
  }
  for (const auto& [name, lister] : listers()) {
    if (name != flags.kind) continue;
    const bool metrics = name == "metrics";
    if (flags.json) {
      print_line(Json({{name, to_json(lister(), metrics)}}).dump(2));
    } else {
      print_parts(lister(), metrics);
    }
  }
}

}  // namespace

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand(
      "list", "What can be named in a configuration, with its options");
  auto flags = std::make_shared<ListFlags>();
  auto* kind = command->add_option("kind", flags->kind, "What to list")
                   ->check(one_of(kinds()));
  auto* json = command->add_flag("--json", flags->json,
                                 "One JSON object on standard output");
  command
      ->add_option("--recipes", flags->recipes,
                   "With the kind recipes: their folder, instead of kith's own")
      ->type_name("DIR");
  command
      ->add_flag("--markdown", flags->markdown,
                 "Losses, miners and samplers with their formulas, as a page")
      ->excludes(kind)
      ->excludes(json);
  command->callback([flags] { run_list(*flags); });
}

}  // namespace kith
