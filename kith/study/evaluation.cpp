#include "kith/study/evaluation.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/number_text.h"
#include "kith/core/option_info.h"
#include "kith/core/path.h"
#include "kith/data/corruption.h"
#include "kith/eval/metric_name.h"
#include "kith/run/eval_metrics.h"
#include "kith/run/run_folder.h"
#include "kith/study/results.h"
#include "kith/study/search_space.h"
#include "kith/study/study_keys.h"
#include "kith/study/tasks.h"

namespace kith {
namespace {

constexpr uint64_t kMaxNoteBytes = uint64_t{1} << 20;

std::string note_path(const StudyEvaluation& evaluation,
                      const std::string& run) {
  return evaluation.folder(run) + "/study_evaluation.yaml";
}

/// The training and the options that an evaluation is of.
std::string note_of(const StudyEvaluation& evaluation, const std::string& run) {
  return "trained: " + training_mark(run) + "\n" +
         to_yaml(write_options(evaluation));
}

void check_name(const ConfigNode& node, const std::string& name) {
  const bool is_plain =
      !name.empty() && name.size() <= 60 &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-';
      });
  if (is_plain && name != "separated" && name != "concatenated") return;
  fail_at(node,
          "an evaluation of 'study.evaluations' needs a 'name' of letters, "
          "digits, '_' and '-', which its metrics begin with, got '" +
              name + "'");
}

void check_corruptions(const ConfigNode& node,
                       const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"all"}) return;
  for (const std::string& name : names) {
    corruption_registry().at(name, node.where);
  }
}

}  // namespace

void StudyEvaluation::describe(OptionSet& set) {
  set.add("name", name, "What its metrics begin with: NAME/recall_any@1.");
  set.add("data", data,
          "Other data than the run's: a configuration (from the folder of the "
          "study's file, or from here), a list or a folder.");
  set.add("checkpoint", checkpoint,
          "last, best or the number of an epoch; empty: as kith eval does.");
  set.add("split", split, "train, validation or test; empty: the run's.");
  set.add("corruptions", corruptions,
          "Corruptions to score too, by name; [all]: all of them.");
  set.add("scales", scales,
          "Sizes at which each image is embedded, as for kith eval.")
      .positive();
  set.add("whiten", whiten,
          "As for kith eval: train, pairs, train:DIM or a file.");
  set.add("rerank", rerank, "As for kith eval.");
  set.add("bootstrap", bootstrap,
          "Resamples of the queries for 95% intervals; 0: none.")
      .range(0, 1'000'000);
}

std::vector<OptionInfo> evaluation_options() {
  return option_infos<StudyEvaluation>();
}

std::vector<std::string> StudyEvaluation::words(
    const std::string& beside) const {
  std::vector<std::string> words;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  const std::string near = beside.empty() ? data : beside + "/" + data;
  add("--data", !data.empty() && path_exists(near) ? near : data);
  add("--checkpoint", checkpoint);
  add("--split", split);
  add("--corruptions", join(corruptions, ","));
  std::vector<std::string> sizes;
  for (const double scale : scales) sizes.push_back(format_general(scale, 10));
  add("--scales", join(sizes, ","));
  add("--whiten", whiten);
  add("--rerank", rerank);
  add("--bootstrap", std::to_string(bootstrap));
  return words;
}

std::string StudyEvaluation::folder(const std::string& run) const {
  return RunFolder(run).eval() + "/" + name;
}

std::vector<StudyEvaluation> read_evaluations(
    const std::vector<ConfigNode>& nodes) {
  std::vector<StudyEvaluation> evaluations;
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto one = read_options<StudyEvaluation>(
        nodes[i], "study.evaluations." + std::to_string(i), {});
    check_name(nodes[i], one.name);
    check_corruptions(nodes[i], one.corruptions);
    for (const StudyEvaluation& other : evaluations) {
      if (other.name != one.name) continue;
      fail_at(nodes[i],
              "two of 'study.evaluations' have the name '" + one.name + "'");
    }
    evaluations.push_back(std::move(one));
  }
  return evaluations;
}

void begin_evaluation(const StudyEvaluation& evaluation,
                      const std::string& run) {
  const std::string folder = evaluation.folder(run);
  make_folders(folder);
  remove_file(folder + "/metrics.json");
  write_file_atomically(note_path(evaluation, run), note_of(evaluation, run));
}

bool is_evaluated(const StudyEvaluation& evaluation, const std::string& run) {
  const std::string note = note_path(evaluation, run);
  return path_exists(evaluation.folder(run) + "/metrics.json") &&
         path_exists(note) &&
         read_file(note, kMaxNoteBytes) == note_of(evaluation, run);
}

void add_evaluation(const StudyEvaluation& evaluation, RunResult& run) {
  const EvalMetrics found =
      read_eval_metrics(evaluation.folder(run.folder) + "/metrics.json");
  const auto named = [&](const std::string& metric) {
    return MetricName::parse(metric).within(evaluation.name).text();
  };
  for (const StoredMetric& metric : found.found.metrics) {
    if (metric.is_list() || std::isnan(metric.value)) continue;
    run.metrics[named(metric.name)] = metric.value;
    const auto interval = found.intervals.find(metric.name);
    if (interval != found.intervals.end()) {
      run.intervals[named(metric.name)] = interval->second;
    }
  }
  std::map<std::string, std::vector<double>> corrupted;
  for (const EvalMetrics::Corrupted& one : found.corruptions) {
    if (one.corruption == "none") continue;
    for (const auto& [metric, value] : one.metrics) {
      const std::string inner =
          MetricName::parse(metric).within(one.corruption).text();
      run.metrics[named(inner)] = value;
      corrupted[metric].push_back(value);
    }
  }
  for (const auto& [metric, values] : corrupted) {
    const std::string inner =
        MetricName::parse(metric).within("mean_of_corrupted").text();
    run.metrics[named(inner)] = spread_of(values).mean;
  }
}

}  // namespace kith
