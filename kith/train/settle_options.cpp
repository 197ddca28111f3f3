#include "kith/train/settle_options.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/eval/protocol.h"

namespace kith {
namespace {

/// Where the user wrote a key of a section; empty if nowhere.
std::string where_of(const ConfigNode& user, const char* section,
                     const char* key) {
  const ConfigNode* map = user.find(section);
  const ConfigNode* node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? "" : node->where;
}

/// Those of these metrics whose values say which of two networks is better.
std::vector<std::string> comparable(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (better_of(name) != Better::kNeither) found.push_back(name);
  }
  return found;
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

void check_train(const TrainOptions& train, const EvalOptions& eval,
                 const ConfigNode& user) {
  const auto fail = [&](const char* key, const std::string& message) {
    const std::string where = where_of(user, "train", key);
    throw ConfigError((where.empty() ? "" : where + ": ") + message);
  };
  if (train.patience > 0 && (eval.every == 0 || !eval.evaluates())) {
    fail("patience",
         "'train.patience' waits for a better evaluation, and there are none "
         "on the way: set 'eval.every', such as to 1" +
             std::string(eval.evaluates() ? "" : ", and 'eval.split' to auto"));
  }
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

}  // namespace

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

void settle_eval(const ConfigNode& user, const std::string& data_set,
                 EvalOptions& options) {
  const ConfigNode* section = user.find("eval");
  if (section == nullptr || section->find("protocol") == nullptr) {
    options.protocol = usual_protocol(data_set);
  }
  if (!options.evaluates() && where_of(user, "eval", "before").empty()) {
    options.before = false;
  }
  if (options.metrics.empty()) {
    const std::string where = where_of(user, "eval", "metrics");
    if (!where.empty()) {
      throw ConfigError(where +
                        ": 'eval.metrics' is empty; leave it out for the usual "
                        "metrics");
    }
    options.metrics = usual_metrics(options.protocol, data_set);
  }
  complete_best(
      user, metric_names(options.metrics, where_of(user, "eval", "metrics")),
      options);
}

void check_options(const ConfigNode& user, const TrainOptions& train,
                   const EvalOptions& eval) {
  check_train(train, eval, user);
  check_eval(eval, user);
}

}  // namespace kith
