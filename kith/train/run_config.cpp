#include "kith/train/run_config.h"

#include <algorithm>
#include <thread>

#include "kith/core/error.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/embedding_net.h"
#include "kith/samplers/sampler.h"
#include "kith/train/optimizer.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

const std::vector<std::string> kSections = {
    "data",      "sampler",  "augment", "model", "loss", "miner",
    "optimizer", "schedule", "train",   "eval",  "log"};

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

ConfigNode complete_miner(const ConfigNode& user) {
  const ConfigNode node = section_or_empty(user, "miner");
  if (node.is_map() && node.entries.empty()) return ConfigNode();  // none
  return miner_registry().complete(node, "miner");
}

template <class T>
ConfigNode complete_plain(const ConfigNode& user, const char* name,
                          T& options) {
  options = read_options<T>(section_or_empty(user, name), name);
  return write_options(options);
}

/// Where the user wrote a key of a section; empty if nowhere.
std::string where_of(const ConfigNode& user, const char* section,
                     const char* key) {
  const ConfigNode* map = user.find(section);
  const ConfigNode* node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? "" : node->where;
}

std::vector<std::string> metric_names(const EvalOptions& options,
                                      const std::string& where) {
  std::vector<std::string> names;
  try {
    for (const NamedMetric& m : parse_metrics(options.metrics)) {
      names.push_back(m.name);
    }
  } catch (const ConfigError& error) {
    throw ConfigError((where.empty() ? "" : where + ": ") + error.what());
  }
  return names;
}

void check_metrics(const EvalOptions& options, const ConfigNode& user) {
  const std::vector<std::string> names =
      metric_names(options, where_of(user, "eval", "metrics"));
  if (!std::count(names.begin(), names.end(), options.best)) {
    throw_unknown(where_of(user, "eval", "best"),
                  "metric in eval.best:", options.best, names);
  }
  protocol_registry().at(options.protocol, "eval.protocol");
}

}  // namespace

void TrainOptions::describe(OptionSet& set) {
  set.add("epochs", epochs, "Passes of the sampler over the data.").range(1);
  set.add("seed", seed, "The seed of everything random.").range(0);
  set.add("clip_norm", clip_norm,
          "Gradients are scaled down to this joint L2 norm; 0: never.")
      .range(0);
  set.add("workers", workers, "Threads that decode images; 0: one a core.")
      .range(0, 1024);
  set.add("prefetch", prefetch, "Batches decoded ahead.").range(0, 1024);
  set.add("checkpoint_steps", checkpoint_steps,
          "A checkpoint after this many steps; 0: only after each epoch.")
      .range(0);
}

void EvalOptions::describe(OptionSet& set) {
  set.add("protocol", protocol, "Who is searched among whom.")
      .choices(protocol_registry().names());
  set.add("split", split,
          "Split that is evaluated; auto: validation if there is one, else "
          "test.")
      .choices({"auto", "test", "validation", "train"});
  set.add("metrics", metrics, "Metrics, such as recall_any@1,10 or map_at_r.")
      .not_empty();
  set.add("best", best, "Metric that picks the best checkpoint.");
  set.add("every", every, "Evaluate after this many epochs; 0: at the end.")
      .range(0);
  set.add("batch", batch, "Images embedded at a time.").range(1);
}

void LogOptions::describe(OptionSet& set) {
  set.add("every", every, "Log every so many steps.").range(1);
}

const ConfigNode& RunConfig::section(const char* name) const {
  const ConfigNode* node = tree.find(name);
  KITH_ASSERT(node != nullptr);
  return *node;
}

RunConfig complete_config(const ConfigNode& user) {
  OptionSet().read(user, "", kSections);
  RunConfig config;
  ConfigNode& tree = config.tree;
  tree = ConfigNode::map();
  tree.set("data", complete_part(user, "data", nullptr, data_set_registry()));
  tree.set("sampler", complete_part(user, "sampler", "class_balanced",
                                    sampler_registry()));
  tree.set("augment", complete_augment(user));
  tree.set("model", complete_model(section_or_empty(user, "model")));
  tree.set("loss", complete_part(user, "loss", "recall_at_k", loss_registry()));
  tree.set("miner", complete_miner(user));
  tree.set("optimizer",
           complete_part(user, "optimizer", "adam", optimizer_registry()));
  tree.set("schedule",
           complete_part(user, "schedule", "constant", schedule_registry()));
  tree.set("train", complete_plain(user, "train", config.train));
  tree.set("eval", complete_plain(user, "eval", config.eval));
  tree.set("log", complete_plain(user, "log", config.log));
  check_metrics(config.eval, user);
  return config;
}

Split eval_split(const EvalOptions& options, const ImageList& list) {
  if (options.split != "auto") return parse_split(options.split, "eval.split");
  return list.of_split(Split::kValidation).empty() ? Split::kTest
                                                   : Split::kValidation;
}

int64_t worker_count(int64_t workers) {
  return workers > 0
             ? workers
             : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

}  // namespace kith
