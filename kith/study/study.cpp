#include "kith/study/study.h"

#include <algorithm>
#include <filesystem>

#include "kith/core/error.h"
#include "kith/core/option_info.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/study/axes.h"
#include "kith/study/claims.h"
#include "kith/study/study_keys.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

/// Whether a name is one metric, with or without a part.
bool is_metric(const std::string& name) {
  try {
    const std::string metric = MetricName::parse(name).metric();
    const auto parsed = parse_metrics({metric});
    return parsed.size() == 1 && parsed[0].name == metric;
  } catch (const ConfigError&) {
    return false;
  }
}

/// A list at a key of the section; empty if there is none.
std::vector<ConfigNode> list_at(const ConfigNode& map, const char* key,
                                const std::string& path) {
  const ConfigNode* node = map.find(key);
  if (node == nullptr || node->kind == ConfigNode::Kind::kNull) return {};
  if (node->kind != ConfigNode::Kind::kList) {
    fail_at(*node, "'" + path + "' must be a list");
  }
  return node->items;
}

PublishedRow read_published_row(const Study& study, const ConfigNode& row) {
  if (!row.is_map()) {
    fail_at(row,
            "an entry of 'study.published.rows' must be a map of axes and "
            "metrics, such as {recall_any@1: 80.7}");
  }
  PublishedRow result;
  result.labels.resize(study.axes.size());
  for (const auto& [key, node] : row.entries) {
    const int64_t axis = study.axis(key);
    if (axis >= 0) {
      const auto a = static_cast<size_t>(axis);
      result.labels[a] = known_label(study.axes[a], node);
      continue;
    }
    if (!is_metric(study.kind(key))) {
      std::vector<std::string> known = study.axis_names();
      known.insert(known.end(), study.metrics.begin(), study.metrics.end());
      throw_unknown(node.where, "axis or metric", key, known);
    }
    double percent = 0;
    Option(key, &percent, "In percent.")
        .range(0, 100)
        .read(node, "study.published.rows." + key);
    result.percent[key] = percent;
  }
  return result;
}

void read_published(const ConfigNode& section, Study& study) {
  const ConfigNode* node = section.find("published");
  if (node == nullptr) return;
  OptionSet set;
  set.add("source", study.published_source, "Where the numbers are printed.");
  set.read(*node, "study.published", {"rows"});
  for (const ConfigNode& row : list_at(*node, "rows", "study.published.rows")) {
    study.published.push_back(read_published_row(study, row));
  }
}

/// What a run is checked as: with its fold, or with the values of a trial.
ConfigNode checked_config(const Study& study, const StudyRun& run) {
  ConfigNode config = run.config;
  if (study.folds > 0) {
    merge_config(config,
                 config_of_key("train.folds",
                               ConfigNode::text(std::to_string(study.folds))));
  }
  if (study.search) {
    const std::vector<TrialValues> trials = search_trials(*study.search);
    for (const auto& [key, value] : trials.front()) {
      merge_config(config, config_of_key(key, value));
    }
    const std::string& metric = study.search->metric;
    if (!metric.empty()) {
      ConfigNode best = ConfigNode::text(metric);
      best.where = study.search->metric_where;
      merge_config(config, config_of_key("eval.best", std::move(best)));
    }
  }
  return config;
}

/// A search must not look at the test split.
void check_search(const SearchSpace& search, const RunConfig& config) {
  const std::string where = search.where.empty() ? "" : search.where + ": ";
  if (!config.train.holds_out()) {
    throw ConfigError(where +
                      "'study.search' needs 'train.validation', such as 0.5, "
                      "or 'study.folds': trials are judged on held-out "
                      "training classes");
  }
  if (config.eval.split != "auto" && config.eval.split != "validation") {
    throw ConfigError(where + "'study.search' needs 'eval.split: auto', not '" +
                      config.eval.split +
                      "': trials are judged on held-out training classes");
  }
}

/// Completes every run's configuration. Returns the names of the metrics that
/// some run computes, without those that are lists.
std::vector<std::string> check_runs(const Study& study) {
  std::vector<std::string> names;
  Labels last;
  bool first = true;
  for (const StudyRun& run : study_runs(study)) {
    if (!first && run.labels == last) continue;  // another seed
    first = false;
    last = run.labels;
    try {
      const RunConfig config = complete_config(checked_config(study, run));
      if (study.search) check_search(*study.search, config);
      for (const NamedMetric& metric : parse_metrics(config.eval.metrics)) {
        const auto* set = dynamic_cast<const SetMetric*>(metric.metric.get());
        if (set != nullptr && set->is_list()) continue;
        if (!std::count(names.begin(), names.end(), metric.name)) {
          names.push_back(metric.name);
        }
      }
    } catch (const ConfigError& error) {
      const std::string labels = describe_labels(study, run.labels);
      throw ConfigError(error.what() +
                        (labels.empty() ? "" : " (in the run " + labels + ")"));
    }
  }
  if (first) throw ConfigError("'study.skip' leaves no run");
  return names;
}

/// Whether a metric is one of an evaluation that follows: "corrupted/map".
bool is_of_evaluation(const Study& study, const std::string& name) {
  return is_metric(name) &&
         std::any_of(study.evaluations.begin(), study.evaluations.end(),
                     [&](const StudyEvaluation& evaluation) {
                       return name.starts_with(evaluation.name + "/");
                     });
}

/// ConfigError unless some run measures it.
void check_measured(const Study& study, const ConfigNode* node,
                    const std::string& key, const std::string& name,
                    const std::vector<std::string>& computed) {
  if (is_of_evaluation(study, name)) return;
  if (std::count(computed.begin(), computed.end(),
                 MetricName::parse(name).metric())) {
    return;
  }
  throw_unknown(node == nullptr ? "" : node->where,
                "metric in '" + key + "', not in 'eval.metrics':", name,
                computed);
}

/// The map `study.averages`, whose metrics must be measured.
void read_averages(const ConfigNode& section,
                   const std::vector<std::string>& computed, Study& study) {
  const ConfigNode* node = section.find("averages");
  if (node == nullptr) return;
  if (!node->is_map()) {
    fail_at(*node,
            "'study.averages' must map names to lists of metrics, such as "
            "{Avg: [recall_any@1, recall_any@2]}");
  }
  for (const auto& [name, list] : node->entries) {
    const std::string key = "study.averages." + name;
    StudyAverage average = {name, {}};
    for (const ConfigNode& item : list_at(*node, name.c_str(), key)) {
      check_measured(study, &item, key, item.scalar, computed);
      average.metrics.push_back(item.scalar);
    }
    if (average.metrics.empty()) fail_at(list, "'" + key + "' names no metric");
    if (is_metric(name)) {
      fail_at(list, "'" + key + "' has the name of a metric; choose another");
    }
    study.averages.push_back(std::move(average));
  }
}

/// Without `metrics` all that are computed. Of folds each metric is there
/// twice.
void complete_metrics(const ConfigNode& section,
                      const std::vector<std::string>& computed, Study& study) {
  if (study.metrics.empty()) study.metrics = computed;
  if (study.metrics.empty()) {
    throw ConfigError("'eval.metrics' has no metric that is a number");
  }
  std::vector<std::string> all;
  for (const std::string& name : study.metrics) {
    check_measured(study, section.find("metrics"), "study.metrics", name,
                   computed);
    const bool both = study.folds > 0 && MetricName::parse(name).part.empty();
    if (both) {
      all.push_back("separated/" + name);
      all.push_back("concatenated/" + name);
    } else {
      all.push_back(name);
    }
  }
  study.metrics = all;
  for (const StudyAverage& average : study.averages) {
    study.metrics.push_back(average.name);
  }
}

void describe_plain(Study& study, OptionSet& set) {
  set.add("title", study.title, "Of the table.");
  set.add("seeds", study.seeds, "Every combination is trained with each.")
      .range(0)
      .not_empty();
  set.add("metrics", study.metrics, "Columns of the table.");
  set.add("folds", study.folds, "Class-disjoint folds of a run.").range(0, 100);
}

void read_plain(const ConfigNode& section, Study& study) {
  study.title = study.name;
  study.seeds = {0};
  OptionSet set;
  describe_plain(study, set);
  set.read(section, "study",
           {"axes", "skip", "published", "figures", "search", "averages",
            "evaluations", "claims"});
  std::vector<int64_t> seeds = study.seeds;
  std::sort(seeds.begin(), seeds.end());
  const auto twice = std::adjacent_find(seeds.begin(), seeds.end());
  if (twice != seeds.end()) {
    fail_at(*section.find("seeds"), "seed " + std::to_string(*twice) +
                                        " is given twice in 'study.seeds'");
  }
}

}  // namespace

std::vector<OptionInfo> study_options() {
  Study study;
  study.seeds = {0};
  OptionSet set;
  describe_plain(study, set);
  return infos_of(set);
}

bool is_study(const ConfigNode& config) {
  return config.find("study") != nullptr;
}

Study load_study(const std::string& path,
                 const std::vector<std::string>& overrides,
                 const std::string& from) {
  Study study;
  study.name = std::filesystem::path(path).stem().string();
  study.beside = std::filesystem::path(path).parent_path().string();
  study.base = load_config(path);
  for (const std::string& text : overrides) {
    apply_override(study.base, text, from);
  }
  if (!is_study(study.base)) {
    throw ConfigError(path +
                      ": no section 'study'; a single configuration is trained "
                      "by kith train");
  }
  study.source = study.base;
  const ConfigNode section = *study.base.find("study");
  std::erase_if(study.base.entries,
                [](const auto& entry) { return entry.first == "study"; });
  read_plain(section, study);
  study.source.find("study")->set("title", ConfigNode::text(study.title));
  study.axes = read_axes(list_at(section, "axes", "study.axes"));
  for (const ConfigNode& row : list_at(section, "skip", "study.skip")) {
    study.skip.push_back(
        read_labels(row, "an entry of 'study.skip'", study.axes));
  }
  if (const ConfigNode* search = section.find("search")) {
    study.search = read_search_space(*search);
  }
  study.figures.kind = ConfigNode::Kind::kList;
  study.figures.items = list_at(section, "figures", "study.figures");
  study.evaluations =
      read_evaluations(list_at(section, "evaluations", "study.evaluations"));
  if (study.folds > 0 && !study.evaluations.empty()) {
    fail_at(*section.find("evaluations"),
            "a study has 'folds' or 'evaluations': networks of folds are "
            "scored together");
  }
  const std::vector<std::string> computed = check_runs(study);
  read_averages(section, computed, study);
  complete_metrics(section, computed, study);
  read_published(section, study);
  study.claims = read_claims(list_at(section, "claims", "study.claims"), study);
  return study;
}

}  // namespace kith
