#include "kith/train/run_config.h"

#include "kith/core/error.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/data/find_colour.h"
#include "kith/eval/metric_name.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/embedding_net.h"
#include "kith/run/run_place.h"
#include "kith/samplers/sampler.h"
#include "kith/train/loss_needs.h"
#include "kith/train/optimizer.h"
#include "kith/train/pretrained_defaults.h"
#include "kith/train/schedule.h"
#include "kith/train/settle_options.h"
#include "kith/train/told_defaults.h"
#include "kith/train/weights_config.h"

namespace kith {
namespace {

const std::vector<std::string> kSections = {
    "data",  "sampler",   "augment",  "model", "loss",
    "miner", "optimizer", "schedule", "train", "eval",
    "log",   "published", "started"};

/// ConfigError for a part that its configuration cannot describe.
void refuse_part_of_cpp(const ConfigNode& part, const std::string& section) {
  const ConfigNode* name = part.is_map() ? part.find("name") : nullptr;
  if (name == nullptr) return;
  const bool is_object = part.find("made") != nullptr;
  if (!is_object && name->scalar != "own") return;
  const std::string where = part.where.empty() ? "" : part.where + ": ";
  throw ConfigError(
      where + "'" + section +
      "' of this run was made in C++, and its configuration does not say how " +
      (name->scalar == "own"
           ? "(its class is registered under no name)"
           : "(an object was given, and not part<Type>(options))") +
      ": only the program that made it can go on, with Trainer::resume(). In "
      "C++ load_model() reads the network, and Evaluator scores it");
}

/// A run that was composed in C++ may have parts that its configuration only
/// names.
void refuse_parts_of_cpp(const ConfigNode& user) {
  if (const ConfigNode* model = user.find("model")) {
    refuse_own_network(*model, model->where);
  }
  refuse_own_data(user);
  for (const auto& [name, section] : user.entries) {
    refuse_part_of_cpp(section, name);
    for (const ConfigNode& step : section.items) refuse_part_of_cpp(step, name);
  }
}

/// A section that is absent or empty is a map without entries.
ConfigNode section_or_empty(const ConfigNode& user, const char* name) {
  const ConfigNode* node = user.find(name);
  if (node == nullptr || node->kind == ConfigNode::Kind::kNull) {
    ConfigNode empty = ConfigNode::map();
    empty.where = node == nullptr ? user.where : node->where;
    return empty;
  }
  return *node;
}

/// A plug-in section with all its options; `fallback` names the part if the
/// section does not.
template <class Parts>
ConfigNode complete_part(const ConfigNode& user, const char* name,
                         const char* fallback, const Parts& registry) {
  ConfigNode node = section_or_empty(user, name);
  if (node.is_map() && node.find("name") == nullptr && fallback != nullptr) {
    node.set("name", ConfigNode::text(fallback));
  }
  return registry.complete(node, name);
}

ConfigNode complete_augment(const ConfigNode& user) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  const ConfigNode* node = user.find("augment");
  if (node == nullptr || node->kind == ConfigNode::Kind::kNull) return list;
  if (node->kind != ConfigNode::Kind::kList) {
    throw ConfigError(node->where +
                      ": 'augment' must be a list of steps, such as "
                      "[{name: affine, degrees: 10}]");
  }
  for (size_t i = 0; i < node->items.size(); ++i) {
    list.items.push_back(augmentation_registry().complete(
        node->items[i], "augment." + std::to_string(i)));
  }
  return list;
}

/// Without a section, the miner that the loss is published with; none for
/// `miner: null`.
ConfigNode complete_miner(const ConfigNode& user, const ConfigNode& loss) {
  ConfigNode node = section_or_empty(user, "miner");
  if (node.is_map() && node.entries.empty()) {
    if (user.find("miner") != nullptr) return ConfigNode();
    const std::string miner = usual_miner(loss.find("name")->scalar);
    if (miner.empty()) return ConfigNode();
    node.set("name", ConfigNode::text(miner));
  }
  return miner_registry().complete(node, "miner");
}

template <class T>
ConfigNode complete_plain(const ConfigNode& user, const char* name,
                          T& options) {
  options = read_options<T>(section_or_empty(user, name), name);
  return write_options(options);
}

/// `published` is there only if the user gave it. Its keys are the names of
/// metrics, so its options are described by what is in it.
void complete_published(const ConfigNode& user, RunConfig& config) {
  const ConfigNode node = section_or_empty(user, "published");
  std::vector<std::string> names;
  for (const auto& [key, value] : node.entries) {
    if (key == "source") continue;
    // Of a protocol with several parts: "small/recall_any@1".
    const std::string name = MetricName::parse(key).metric();
    if (metric_names({name}, value.where) != std::vector<std::string>{name}) {
      throw ConfigError(value.where + ": 'published." + key +
                        "' must be one metric, such as recall_any@1");
    }
    names.push_back(key);
  }
  std::vector<double> values(names.size());
  OptionSet set;
  set.add("source", config.published_source, "Where the numbers are printed.");
  for (size_t i = 0; i < names.size(); ++i) {
    set.add(names[i], values[i], "In percent.").range(0, 100);
  }
  set.read(node, "published");
  for (size_t i = 0; i < names.size(); ++i) {
    config.published.emplace_back(names[i], values[i]);
  }
  if (!node.entries.empty()) config.tree.set("published", set.write());
}

}  // namespace

const ConfigNode& RunConfig::section(const char* name) const {
  const ConfigNode* node = tree.find(name);
  KITH_ASSERT(node != nullptr);
  return *node;
}

RunConfig complete_config(const ConfigNode& written) {
  if (const ConfigNode* study = written.find("study")) {
    throw ConfigError((study->where.empty() ? "" : study->where + ": ") +
                      "this is a study of several trainings (section 'study'): "
                      "run it with kith sweep");
  }
  OptionSet().read(written, "", kSections);
  refuse_parts_of_cpp(written);
  RunConfig config;
  ConfigNode user = written;
  config.weights_config = take_weights_config(user);
  config.open_keys = find_open_keys(user);
  config.pretrained_defaults = take_pretrained_defaults(user);
  ConfigNode& tree = config.tree;
  tree = ConfigNode::map();
  tree.set("data", complete_data_section(section_or_empty(user, "data")));
  tree.set("sampler", complete_part(user, "sampler", "class_balanced",
                                    sampler_registry()));
  tree.set("augment", complete_augment(user));
  tree.set("model", complete_model(
                        section_or_empty(user, "model"),
                        usual_colour(tree.find("data")->find("name")->scalar)));
  tree.set("loss", complete_part(user, "loss", "recall_at_k", loss_registry()));
  tree.set("miner", complete_miner(user, *tree.find("loss")));
  fit_loss_to_miner(user, tree);
  fit_head_to_loss(user, tree);
  tree.set("optimizer",
           complete_part(user, "optimizer", "adam", optimizer_registry()));
  tree.set("schedule",
           complete_part(user, "schedule", "constant", schedule_registry()));
  tree.set("train", complete_plain(user, "train", config.train));
  complete_plain(user, "eval", config.eval);
  settle_eval(user, tree.find("data")->find("name")->scalar, config.eval);
  tree.set("eval", write_options(config.eval));
  tree.set("log", complete_plain(user, "log", config.log));
  complete_published(user, config);
  if (user.find("started") != nullptr) {
    tree.set("started", write_options(read_options<RunStart>(
                            section_or_empty(user, "started"), "started")));
  }
  check_options(user, config.train, config.eval);
  return config;
}

}  // namespace kith
