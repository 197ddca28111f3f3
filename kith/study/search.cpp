#include "kith/study/search.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/json_text.h"
#include "kith/eval/metric.h"
#include "kith/study/results.h"
#include "kith/study/text_table.h"
#include "kith/train/experiment.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

void set_key(ConfigNode& config, const std::string& key,
             const std::string& value) {
  merge_config(config, config_of_key(key, ConfigNode::text(value)));
}

Json json_of_values(const TrialValues& values) {
  Json json = Json::object();
  for (const auto& [key, value] : values) {
    std::string text = to_yaml(value);
    text.pop_back();
    json[key] = text;
  }
  return json;
}

Json json_of_trial(const Trial& trial, const TrialResult& result) {
  Json json = {{"folder", trial.folder},
               {"values", json_of_values(trial.values)},
               {"state", result.diverged ? "diverged"
                         : result.ended  ? "done"
                                         : "to do"}};
  if (result.ended && !result.diverged) {
    json["value"] = result.value;  // null if it is NaN
    if (result.epoch > 0) json["epoch"] = result.epoch;
  }
  return json;
}

const std::string& metric_of(const SearchResult& search) {
  return search.trials.front()
      .trainings.front()
      .config.find("eval")
      ->find("best")
      ->scalar;
}

/// The trainings of a trial, whose configuration `user` is but for the fold.
std::vector<TrialTraining> trainings_of(const Study& study,
                                        const std::string& folder,
                                        const ConfigNode& user) {
  if (study.folds == 0) return {{folder, complete_config(user).tree}};
  std::vector<TrialTraining> trainings;
  for (int64_t fold = 1; fold <= study.folds; ++fold) {
    ConfigNode config = user;
    set_key(config, "train.folds", std::to_string(study.folds));
    set_key(config, "train.fold", std::to_string(fold));
    trainings.push_back(
        {RunFolder(folder).fold(fold).path(), complete_config(config).tree});
  }
  return trainings;
}

/// How a training of a trial ended.
TrialResult read_training(const RunFolder& folder) {
  TrialResult result;
  result.value = NAN;
  if (!folder.is_finished()) {
    result.diverged = folder.has_diverged();
    result.ended = result.diverged;
    return result;
  }
  const RunMetrics metrics = read_metrics_to_train_again(folder);
  if (metrics.split != split_name(Split::kValidation)) {
    throw DataError(folder.metrics() +
                    ": not evaluated on held-out training classes; delete "
                    "the folder to train it again");
  }
  result.ended = true;
  // All classes are trained on for as many epochs as were best: at least one.
  std::optional<BestPoint> best = metrics.best;
  if (best && best->epoch == 0 && !metrics.history.empty()) {
    best = best_point(metrics.history, best->metric, /*with_untrained=*/false);
  }
  if (best && !std::isnan(best->value)) {
    result.value = best->value;
    result.epoch = best->epoch;
  }
  return result;
}

}  // namespace

std::vector<Trial> trials_of(const Study& study, const StudyRun& run) {
  const std::string combination =
      run.folder.substr(0, run.folder.rfind("seed-"));
  std::vector<Trial> trials;
  for (TrialValues& values : search_trials(*study.search)) {
    Trial trial;
    trial.folder =
        combination + "search/trial-" + std::to_string(trials.size() + 1);
    ConfigNode user = run.config;
    for (const auto& [key, value] : values) {
      merge_config(user, config_of_key(key, value));
    }
    set_key(user, "train.seed", std::to_string(study.search->seed));
    if (study.folds == 0) set_key(user, "train.final", "false");
    if (!study.search->metric.empty()) {
      set_key(user, "eval.best", study.search->metric);
    }
    trial.trainings = trainings_of(study, trial.folder, user);
    trial.values = std::move(values);
    trials.push_back(std::move(trial));
  }
  return trials;
}

TrialResult read_trial(const Trial& trial, const std::string& out) {
  if (trial.trainings.size() == 1) {
    return read_training(RunFolder(out + "/" + trial.trainings[0].folder));
  }
  TrialResult mean;
  mean.ended = true;
  for (const TrialTraining& training : trial.trainings) {
    const TrialResult one =
        read_training(RunFolder(out + "/" + training.folder));
    mean.ended &= one.ended;
    mean.diverged |= one.diverged;
    mean.value += one.value / static_cast<double>(trial.trainings.size());
  }
  return mean;
}

SearchResult search_result(const Study& study, const StudyRun& run,
                           const std::string& out) {
  SearchResult search;
  search.labels = run.labels;
  search.trials = trials_of(study, run);
  search.ended = true;
  for (const Trial& trial : search.trials) {
    search.results.push_back(read_trial(trial, out));
    search.ended &= search.results.back().ended;
  }
  if (!search.ended) return search;
  const Better better = better_of(metric_of(search));
  double known = NAN;
  for (size_t t = 0; t < search.results.size(); ++t) {
    if (!is_better(search.results[t].value, known, better)) continue;
    known = search.results[t].value;
    search.best = static_cast<int64_t>(t);
  }
  return search;
}

StudyRun with_chosen_values(const StudyRun& run, const SearchResult& search) {
  StudyRun chosen = run;
  const auto best = static_cast<size_t>(search.best);
  for (const auto& [key, value] : search.trials[best].values) {
    merge_config(chosen.config, config_of_key(key, value));
  }
  return chosen;
}

ConfigNode chosen_config(const StudyRun& run, const SearchResult& search) {
  const auto best = static_cast<size_t>(search.best);
  return final_config(complete_config(with_chosen_values(run, search).config),
                      search.results[best].epoch)
      .tree;
}

std::string search_json(const Study& study,
                        const std::vector<SearchResult>& searches) {
  Json list = Json::array();
  for (const SearchResult& search : searches) {
    Json labels = Json::object();
    for (size_t a = 0; a < search.labels.size(); ++a) {
      labels[study.axes[a].name] = search.labels[a];
    }
    Json json = {{"labels", labels},
                 {"metric", metric_of(search)},
                 {"chosen_on", "held-out training classes"},
                 {"chosen", nullptr},
                 {"trials", Json::array()}};
    for (size_t t = 0; t < search.trials.size(); ++t) {
      json["trials"].push_back(
          json_of_trial(search.trials[t], search.results[t]));
    }
    if (search.best >= 0) {
      json["chosen"] = json["trials"][static_cast<size_t>(search.best)];
    }
    list.push_back(json);
  }
  return json_text(list) + "\n";
}

TextTable search_choices(const Study& study,
                         const std::vector<SearchResult>& searches) {
  TextTable table;
  for (const StudyAxis& axis : study.axes) table.head.push_back(axis.name);
  for (const SearchKey& key : study.search->keys) {
    table.head.push_back(key.key);
  }
  table.head.insert(table.head.end(), {"trial", "epoch", "held-out"});
  for (const SearchResult& search : searches) {
    if (search.best < 0) continue;
    const auto best = static_cast<size_t>(search.best);
    std::vector<std::string> row = search.labels;
    for (const auto& [key, value] : search.trials[best].values) {
      std::string text = to_yaml(value);
      text.pop_back();
      row.push_back(text);
    }
    const TrialResult& result = search.results[best];
    row.push_back(std::to_string(best + 1));
    row.push_back(result.epoch > 0 ? std::to_string(result.epoch) : "-");
    row.push_back(format_metric(metric_of(search), result.value));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string search_table(const Study& study,
                         const std::vector<SearchResult>& searches) {
  const TextTable table = search_choices(study, searches);
  return table.rows.empty() ? "" : markdown_table(table);
}

}  // namespace kith
