#include "kith/train/run_config.h"

#include <algorithm>
#include <thread>

#include "kith/core/error.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/data/find_colour.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/eval/protocol.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/embedding_net.h"
#include "kith/samplers/sampler.h"
#include "kith/train/loss_needs.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_place.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

const std::vector<std::string> kSections = {
    "data",  "sampler",   "augment",  "model", "loss",
    "miner", "optimizer", "schedule", "train", "eval",
    "log",   "published", "started"};

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
    const std::string name = loss.find("name")->scalar;
    const std::string miner = loss_registry().at(name, "loss").facts.miner;
    if (miner.empty()) return ConfigNode();
    node.set("name", ConfigNode::text(miner));
  }
  return miner_registry().complete(node, "miner");
}

/// The published code of the SNR loss leaves its regulariser out with tuples of
/// distance-weighted miners. So does kith, unless the user sets it.
void pair_snr_with_miner(const ConfigNode& user, ConfigNode& tree) {
  const ConfigNode* miner = tree.find("miner")->find("name");
  const ConfigNode* given = user.find("loss");
  if (tree.find("loss")->find("name")->scalar != "snr" || miner == nullptr ||
      (given != nullptr && given->find("reg") != nullptr)) {
    return;
  }
  if (miner->scalar == "distance_weighted" || miner->scalar == "rho_distance") {
    apply_override(tree, "loss.reg=0");
  }
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

std::vector<std::string> metric_names(const std::vector<std::string>& metrics,
                                      const std::string& where) {
  std::vector<std::string> names;
  try {
    for (const NamedMetric& m : parse_metrics(metrics)) {
      names.push_back(m.name);
    }
  } catch (const ConfigError& error) {
    throw ConfigError((where.empty() ? "" : where + ": ") + error.what());
  }
  return names;
}

/// Those of these metrics whose values say which of two networks is better.
std::vector<std::string> comparable(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (better_of(name) != Better::kNeither) found.push_back(name);
  }
  return found;
}

/// Options of `train` that need each other.
void check_train(const TrainOptions& train, const EvalOptions& eval,
                 const ConfigNode& user) {
  const auto fail = [&](const char* key, const std::string& message) {
    const std::string where = where_of(user, "train", key);
    throw ConfigError((where.empty() ? "" : where + ": ") + message);
  };
  const char* key = train.folds > 0 ? "folds" : "validation";
  if (train.holds_out() && eval.every == 0) {
    fail(key, "'train." + std::string(key) +
                  "' needs 'eval.every', such as 1: without evaluations there "
                  "is no epoch to choose");
  }
  if (train.holds_out() && !eval.evaluates()) {
    fail(key, "'train." + std::string(key) +
                  "' chooses by evaluations: set 'eval.split' to auto");
  }
  if (train.holds_out() && train.steps > 0) {
    fail(key, "'train." + std::string(key) +
                  "' chooses an epoch, and 'train.steps' may end within one: "
                  "use one or the other");
  }
  if (train.folds > 0 && train.validation > 0) {
    fail(key,
         "'train.folds' and 'train.validation' both hold out training "
         "classes: set one of them to 0");
  }
  if (train.folds == 1) {
    fail(key, "'train.folds' must be 0 or at least 2: one of them is held out");
  }
  if (train.fold > std::max<int64_t>(train.folds, 1)) {
    fail("fold", "'train.fold' is " + std::to_string(train.fold) +
                     ", but 'train.folds' is " + std::to_string(train.folds));
  }
}

void check_eval(const EvalOptions& eval, const ConfigNode& user) {
  if (!eval.before || eval.evaluates()) return;
  const std::string where = where_of(user, "eval", "before");
  throw ConfigError((where.empty() ? "" : where + ": ") +
                    "'eval.before' is an evaluation, and 'eval.split' is "
                    "none: set it to auto, or 'eval.before' to false");
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

/// The metric that picks the best checkpoint, one of `names`: as the user says,
/// or Recall@1, or else the first that can be compared.
void complete_best(const ConfigNode& user,
                   const std::vector<std::string>& names,
                   EvalOptions& options) {
  const std::string where = where_of(user, "eval", "best");
  const std::vector<std::string> usable = comparable(names);
  const auto has = [](const std::vector<std::string>& list,
                      const std::string& name) {
    return std::count(list.begin(), list.end(), name) > 0;
  };
  // Of a protocol with several parts: "medium/map_trapezoid".
  const std::string best = MetricName::parse(options.best).metric();
  if (has(usable, best)) return;
  if (!where.empty() && !has(names, best)) {
    throw_unknown(where, "metric in eval.best:", options.best, names);
  }
  if (!options.evaluates()) {  // nothing is chosen
    options.best = names.front();
    return;
  }
  if (usable.empty()) {
    const std::string at = where_of(user, "eval", "metrics");
    throw ConfigError((at.empty() ? "" : at + ": ") +
                      "none of 'eval.metrics' says which of two networks is "
                      "better, so there is none for 'eval.best': add one such "
                      "as recall_any@1 (see: kith list metrics)");
  }
  if (!where.empty()) {
    throw ConfigError(where + ": " + options.best +
                      " cannot choose ('eval.best', or 'study.search.metric' "
                      "of a search): none of its values is better than "
                      "another; take one of " +
                      join(usable));
  }
  options.best = usable.front();
}

/// A protocol and metrics that the user did not name are the usual ones.
void complete_eval(const ConfigNode& user, const ConfigNode& data,
                   EvalOptions& options) {
  const ConfigNode* section = user.find("eval");
  if (section == nullptr || section->find("protocol") == nullptr) {
    options.protocol = usual_protocol(data.find("name")->scalar);
  }
  if (options.metrics.empty()) {
    const std::string where = where_of(user, "eval", "metrics");
    if (!where.empty()) {
      throw ConfigError(where +
                        ": 'eval.metrics' is empty; leave it out for the usual "
                        "metrics");
    }
    options.metrics =
        usual_metrics(options.protocol, data.find("name")->scalar);
  }
  complete_best(
      user, metric_names(options.metrics, where_of(user, "eval", "metrics")),
      options);
}

}  // namespace

void TrainOptions::describe(OptionSet& set) {
  set.add("epochs", epochs,
          "Passes of the sampler over the data, after train.head_epochs.")
      .range(1);
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
  set.add("sub_batch", sub_batch,
          "Images that go through the network at a time; the loss still sees "
          "the whole batch. 0: the batch.")
      .range(0);
  set.add("keep_graphs", keep_graphs,
          "Sub-batches that are computed once instead of twice: as many as "
          "memory allows, none, or all.")
      .choices({"auto", "none", "all"});
  set.add("head_epochs", head_epochs,
          "So many epochs come before train.epochs and the schedule: the "
          "backbone stays as it is, all else trains at the full rate.")
      .range(0);
  set.add("stop_epoch", stop_epoch,
          "Training ends after this epoch, counted from the first of all, the "
          "schedule unchanged; 0: after the last.")
      .range(0);
  set.add("steps", steps,
          "Training ends after so many steps, the schedule unchanged; 0: after "
          "the last epoch.")
      .range(0);
  set.add("validation", validation,
          "This share of the training classes, the last in order, validates: "
          "the best epoch is chosen there, then all classes are trained on for "
          "as long. 0: no selection.")
      .range(0, 0.9);
  set.add("final", final,
          "After the best epoch was chosen by train.validation, train on all "
          "classes; false: only choose.");
  set.add("folds", folds,
          "The training classes in order are so many folds; one validates, the "
          "others are trained on, and the best checkpoint is kept. 0: none.")
      .range(0, 100);
  set.add("fold", fold, "The fold that validates, from 1.").range(1, 100);
  set.add("init_from", init_from,
          "A run or checkpoint whose weights training starts from.");
  set.add("cache_mb", cache_mb,
          "Decoded images are kept in memory up to so many MB.")
      .range(0);
  set.add("memory", memory,
          "Cross-batch memory: so many embeddings of past batches are compared "
          "with too, by losses on rows of similarities. 0: none.")
      .range(0, 1 << 24);
  set.add("memory_after", memory_after,
          "In the first so many epochs the memory is only filled.")
      .range(0);
  set.add("mixup", mixup,
          "ManifoldMixup: alpha of the Beta distribution that the share of "
          "each picture's hidden activations is drawn from (2 in the study). "
          "0: none.")
      .range(0, 1000);
  set.add(
         "tune", tune,
         "On a GPU each convolution tries so many algorithms at the first step "
         "and keeps the fastest; 0: takes the one expected to be.")
      .range(0, 100);
}

int64_t TrainOptions::last_epoch() const {
  const int64_t all = head_epochs + epochs;
  return stop_epoch > 0 ? std::min(stop_epoch, all) : all;
}

void EvalOptions::describe(OptionSet& set) {
  set.add("protocol", protocol,
          "Who is searched among whom; absent: the one that the data set is "
          "published with, or standard.")
      .choices(protocol_registry().names());
  set.add("split", split,
          "Split that is evaluated; auto: validation if there is one, else "
          "test. none: training has no evaluation, as for data that is tested "
          "elsewhere.")
      .choices({"auto", "test", "validation", "train", "none"});
  set.add("metrics", metrics,
          "Metrics, such as recall_any@1,10 or map_at_r; none: those that the "
          "protocol or the data set is published with.");
  set.add("best", best,
          "Metric that picks the best checkpoint; absent: recall_any@1 if it "
          "is among the metrics, or else the first that can be compared.");
  set.add("every", every, "Evaluate after this many epochs; 0: at the end.")
      .range(0);
  set.add("before", before,
          "The network is evaluated before training too, at epoch 0; it is "
          "never the best.");
  set.add("batch", batch, "Images embedded at a time.").range(1);
  descriptor.describe(set);
}

void LogOptions::describe(OptionSet& set) {
  set.add("every", every, "Log every so many steps.").range(1);
  set.add("gallery", gallery,
          "Queries in the picture of what is found that TensorBoard shows of "
          "each evaluation; 0: no picture.")
      .range(0, 100);
}

const ConfigNode& RunConfig::section(const char* name) const {
  const ConfigNode* node = tree.find(name);
  KITH_ASSERT(node != nullptr);
  return *node;
}

RunConfig complete_config(const ConfigNode& user) {
  if (const ConfigNode* study = user.find("study")) {
    throw ConfigError((study->where.empty() ? "" : study->where + ": ") +
                      "this is a study of several trainings (section 'study'): "
                      "run it with kith sweep");
  }
  OptionSet().read(user, "", kSections);
  RunConfig config;
  ConfigNode& tree = config.tree;
  tree = ConfigNode::map();
  tree.set("data", complete_part(user, "data", nullptr, data_set_registry()));
  tree.set("sampler", complete_part(user, "sampler", "class_balanced",
                                    sampler_registry()));
  tree.set("augment", complete_augment(user));
  tree.set("model", complete_model(
                        section_or_empty(user, "model"),
                        usual_colour(tree.find("data")->find("name")->scalar)));
  tree.set("loss", complete_part(user, "loss", "recall_at_k", loss_registry()));
  tree.set("miner", complete_miner(user, *tree.find("loss")));
  pair_snr_with_miner(user, tree);
  fit_head_to_loss(user, tree);
  tree.set("optimizer",
           complete_part(user, "optimizer", "adam", optimizer_registry()));
  tree.set("schedule",
           complete_part(user, "schedule", "constant", schedule_registry()));
  tree.set("train", complete_plain(user, "train", config.train));
  complete_plain(user, "eval", config.eval);
  complete_eval(user, *tree.find("data"), config.eval);
  tree.set("eval", write_options(config.eval));
  tree.set("log", complete_plain(user, "log", config.log));
  complete_published(user, config);
  if (user.find("started") != nullptr) {
    tree.set("started", write_options(read_options<RunStart>(
                            section_or_empty(user, "started"), "started")));
  }
  check_train(config.train, config.eval, user);
  check_eval(config.eval, user);
  return config;
}

Split eval_split(const EvalOptions& options, const ImageList& list) {
  if (options.split != "auto" && options.evaluates())
    return parse_split(options.split, "eval.split");
  return list.of_split(Split::kValidation).empty() ? Split::kTest
                                                   : Split::kValidation;
}

int64_t worker_count(int64_t workers) {
  return workers > 0
             ? workers
             : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

}  // namespace kith
