#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/keys_page.h"
#include "cli/list_recipes.h"
#include "cli/names_page.h"
#include "cli/objectives_page.h"
#include "cli/usage.h"
#include "cli/wrap.h"
#include "kith/core/error.h"
#include "kith/core/option_info.h"
#include "kith/data/augment.h"
#include "kith/data/corruption.h"
#include "kith/data/data_set.h"
#include "kith/eval/compression.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "kith/index/reranker.h"
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

/// With the options that all data sets have.
std::vector<Part> list_data_sets() {
  std::vector<Part> parts = parts_of(data_set_registry());
  for (Part& part : parts) {
    for (const OptionInfo& option : option_infos<DataOptions>()) {
      part.options.push_back(option);
    }
  }
  return parts;
}

/// A registry as the command knows it.
struct PartKind {
  std::string plural;  ///< "losses"
  std::string kind;    ///< "loss", as Registry::kind().
  Lister lister;
};

template <auto registry>
PartKind part_kind(const char* plural) {
  return {plural, registry().kind(), [] { return parts_of(registry()); }};
}

const std::vector<PartKind>& part_kinds() {
  static const std::vector<PartKind> all = {
      {"losses", loss_registry().kind(), list_losses},
      part_kind<miner_registry>("miners"),
      part_kind<sampler_registry>("samplers"),
      part_kind<backbone_registry>("backbones"),
      {"datasets", data_set_registry().kind(), list_data_sets},
      part_kind<augmentation_registry>("augmentations"),
      part_kind<corruption_registry>("corruptions"),
      part_kind<optimizer_registry>("optimizers"),
      part_kind<schedule_registry>("schedules"),
      part_kind<metric_registry>("metrics"),
      part_kind<protocol_registry>("protocols"),
      part_kind<compression_registry>("compressions"),
      part_kind<figure_registry>("figures"),
      part_kind<vector_index_registry>("indexes"),
      part_kind<reranker_registry>("rerankers")};
  return all;
}

/// The part of this name alone. ConfigError, with what kith calls it, if there
/// is none.
std::vector<Part> only_part(const PartKind& kind, const std::string& name) {
  std::vector<Part> parts = kind.lister();
  if (name.empty()) return parts;
  std::vector<std::string> known, also;
  for (const Part& part : parts) {
    const bool is_alias =
        std::count(part.aliases.begin(), part.aliases.end(), name) > 0;
    if (part.name == name || is_alias) return {part};
    known.push_back(part.name);
    also.insert(also.end(), part.aliases.begin(), part.aliases.end());
  }
  throw_unknown("", kind.kind, name, known, also);
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

/// What is worth reading of one part, and too long in a list of all.
void print_facts(const Part& part) {
  const PartFacts& facts = part.facts;
  const auto print = [](const std::string& name, const char* fact) {
    if (*fact != 0) print_line(wrapped("  " + name + ": " + fact, 6));
  };
  print("source", facts.source);
  print("cost", facts.cost);
  std::istringstream lines(facts.formula);
  for (std::string line; std::getline(lines, line);) {
    std::printf("    %s\n", line.c_str());
  }
}

/// "patch = 14, width = 384"
std::string values_of(const std::vector<OptionInfo>& options) {
  std::vector<std::string> values;
  for (const OptionInfo& option : options) {
    values.push_back(option.name + " = " + one_line(option.default_value));
  }
  return join(values);
}

/// What a shape is, in place of the options that its part has too.
void print_shape(const Part& part) {
  const std::string values =
      part.changed.empty() ? "its defaults" : values_of(part.changed);
  print_line(wrapped("  " + part.shape_of + " with " + values, 6));
  if (part.aliases.empty()) return;
  print_line(wrapped("  also called " + join(part.aliases), 6));
}

void print_parts(const std::vector<Part>& parts, bool metrics) {
  for (const Part& part : parts) {
    print_line(wrapped(part.name + ": " + part.summary, 4));
    if (!part.shape_of.empty()) {
      print_shape(part);
      if (parts.size() > 1) continue;
    }
    if (parts.size() == 1) print_facts(part);
    if (metrics) std::printf("  values: %s\n", values_text(part.name).c_str());
    if (!part.embeddings.empty()) {
      std::printf("  embeddings: %s\n", part.embeddings.c_str());
    }
    if (!part.miner.empty()) {
      const std::string miner = "miner: " + part.miner;
      const std::string space(miner.size() < 28 ? 29 - miner.size() : 1, ' ');
      print_line(wrapped(
          "  " + miner + space + "unless a configuration names another", 6));
    }
    for (const OptionInfo& o : part.options) {
      const std::string head = o.name + " = " + one_line(o.default_value);
      const std::string space(head.size() < 28 ? 29 - head.size() : 1, ' ');
      print_line(wrapped("  " + head + space + o.help + " [" + o.type +
                             (o.constraint.empty() ? "" : ", " + o.constraint) +
                             "]",
                         6));
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
                    {"shape_of", part.shape_of},
                    {"aliases", part.aliases},
                    {"facts", facts_json(part)},
                    {"options", options}});
    if (metrics) add_values(part.name, list.back());
    if (!part.embeddings.empty()) list.back()["embeddings"] = part.embeddings;
  }
  return list;
}

struct ListFlags {
  std::string kind;
  std::string name;
  std::string recipes;
  bool json = false;
  bool markdown = false;
};

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const PartKind& kind : part_kinds()) names.push_back(kind.plural);
  for (const char* other : {"recipes", "keys", "names"}) {
    names.emplace_back(other);
  }
  return names;
}

/// The pages of docs/ that are made from descriptions.
std::string markdown_page(const std::string& kind) {
  if (kind.empty()) {
    return objectives_page(list_losses(), parts_of(miner_registry()),
                           parts_of(sampler_registry()));
  }
  if (kind == "keys") return keys_page();
  if (kind == "names") return names_page();
  throw ConfigError(
      "--markdown makes the page of all objectives (no kind), of "
      "keys or of names, and not of " +
      kind);
}

/// Whether it was one of the kinds that are no parts.
bool list_other(const ListFlags& flags) {
  if (flags.kind == "recipes") {
    if (!flags.name.empty()) {
      throw ConfigError("kith list recipes shows all: leave out '" +
                        flags.name + "'");
    }
    list_recipes(flags.recipes, flags.json);
  } else if (flags.kind == "keys" && flags.json) {
    print_json(keys_json(flags.name));
  } else if (flags.kind == "keys") {
    print_keys(flags.name);
  } else if (flags.kind == "names" && flags.json) {
    print_json(names_json(flags.name));
  } else if (flags.kind == "names") {
    print_names(flags.name);
  } else {
    return false;
  }
  return true;
}

void run_list(const ListFlags& flags) {
  if (flags.markdown) {
    std::fputs(markdown_page(flags.kind).c_str(), stdout);
    return;
  }
  if (flags.kind.empty()) {
    throw ConfigError("kith list needs what to list: one of " + join(kinds()) +
                      "; or --markdown");
  }
  if (list_other(flags)) return;
  for (const PartKind& kind : part_kinds()) {
    if (kind.plural != flags.kind) continue;
    const std::vector<Part> parts = only_part(kind, flags.name);
    const bool metrics = kind.plural == "metrics";
    if (flags.json) {
      print_json({{kind.plural, to_json(parts, metrics)}});
    } else {
      print_parts(parts, metrics);
    }
  }
}

}  // namespace

bool is_part_kind(const std::string& kind) {
  return std::any_of(part_kinds().begin(), part_kinds().end(),
                     [&](const PartKind& known) { return known.kind == kind; });
}

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand(
      "list", "What can be named in a configuration, with its options");
  auto flags = std::make_shared<ListFlags>();
  command->add_option("kind", flags->kind, "What to list")
      ->check(one_of(kinds()));
  auto* name = command->add_option(
      "name", flags->name,
      "One of them alone, in full: kith list losses margin; of keys also a "
      "section: kith list keys train");
  auto* json = command->add_flag("--json", flags->json,
                                 "One JSON object on standard output");
  command
      ->add_option("--recipes", flags->recipes,
                   "With the kind recipes: their folder, instead of kith's own")
      ->type_name("DIR");
  command
      ->add_flag("--markdown", flags->markdown,
                 "As a page: losses, miners and samplers with their formulas "
                 "(no kind), keys or names")
      ->excludes(name)
      ->excludes(json);
  command->callback([flags] { run_list(*flags); });
}

}  // namespace kith
