#include "kith/report/run_record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/core/path.h"
#include "kith/eval/metric.h"
#include "kith/report/metric_record.h"
#include "kith/run/run_folder.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Some runs below a folder, by their paths; a study's are two deep.
std::vector<std::string> runs_below(const std::string& folder) {
  constexpr int kDeepest = 2, kMostSeen = 10'000;
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> runs;
  std::error_code error;
  auto it = fs::recursive_directory_iterator(
      folder, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && it != fs::end(it) && seen < kMostSeen; ++seen) {
    if (it.depth() >= kDeepest) it.disable_recursion_pending();
    const std::string path = it->path().string();
    const RunFolder run(it->path().parent_path().string());
    if (path == run.config() && it.depth() > 0) runs.push_back(run.path());
    it.increment(error);
  }
  std::sort(runs.begin(), runs.end());
  runs.resize(std::min(runs.size(), kMostNamed));
  return runs;
}

[[noreturn]] void throw_no_run(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) {
    throw DataError(folder + ": no such folder; expected the folder of a run");
  }
  if (!fs::is_directory(folder, ignored)) {
    throw DataError(folder + ": a file; expected the folder of a run");
  }
  const std::vector<std::string> runs = runs_below(folder);
  if (!runs.empty() || fs::exists(folder + "/results.json", ignored)) {
    std::string names;
    for (const std::string& run : runs) names += " " + run;
    throw DataError(folder +
                    ": not a run, but a folder of runs, such as a "
                    "study's; name the runs themselves" +
                    (runs.empty() ? "" : ", such as:" + names));
  }
  throw DataError(folder +
                  ": not the folder of a run: expected config.yaml and "
                  "log.jsonl there, as kith train writes them");
}

/// The scalar at a path of keys; empty if it is not there.
std::string scalar_at(const ConfigNode& config, const char* section,
                      const char* key) {
  const ConfigNode* map = config.find(section);
  const ConfigNode* node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? "" : node->scalar;
}

/// Percent in the configuration, as papers print them.
void read_published(const ConfigNode& config, EvalMetrics& file) {
  const ConfigNode* section = config.find("published");
  if (section == nullptr) return;
  for (const auto& [name, value] : section->entries) {
    if (name == "source") {
      file.published_source = value.scalar;
      continue;
    }
    const std::string& text = value.scalar;
    double percent = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), percent);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw DataError(value.where + ": 'published." + name +
                      "' is not a number; expected percent, as published");
    }
    file.published[name] = percent / 100;
  }
}

/// Whether kith eval scored the network that the run's own evaluation did, by
/// the same rules: then its further metrics belong beside those of the run.
bool same_evaluation(const RunRecord& run, const StoredEval& own,
                     const EvalMetrics& other) {
  constexpr double kRounding = 1e-4;
  if (run.protocol != other.protocol || run.split != other.split ||
      own.rules != other.found.rules) {
    return false;
  }
  bool met = false;
  for (const StoredMetric& metric : own.metrics) {
    const StoredMetric* found = other.found.find(metric.name);
    if (found == nullptr || std::isnan(metric.value)) continue;
    if (!(std::abs(found->value - metric.value) <= kRounding)) return false;
    met = true;
  }
  return met;
}

/// Adds what only kith eval measured.
void add_further(const StoredEval& further, StoredEval& own) {
  for (const StoredMetric& metric : further.metrics) {
    if (own.find(metric.name) == nullptr) own.metrics.push_back(metric);
  }
}

/// Of later evaluations those on the run's own data come first, and of these
/// those of its last network.
std::vector<EvalMetrics> ordered_evals(std::vector<EvalMetrics> evals) {
  const auto rank = [](const EvalMetrics& eval) {
    const bool is_last =
        eval.checkpoint.name.empty() || eval.checkpoint.name == "last";
    return (eval.data.empty() ? 0 : 4) + (eval.descriptor.empty() ? 0 : 2) +
           (is_last ? 0 : 1);
  };
  std::stable_sort(evals.begin(), evals.end(),
                   [&](const EvalMetrics& a, const EvalMetrics& b) {
                     return rank(a) < rank(b);
                   });
  return evals;
}

/// What the first diagnostics of the run's own data say.
std::optional<StoredDuplicates> near_duplicates(
    const RunFolder& run, const std::vector<EvalMetrics>& evals) {
  for (const std::string& file : run.eval_files("diagnostics.json")) {
    const fs::path folder = fs::path(file).parent_path();
    const bool is_of_others =
        std::any_of(evals.begin(), evals.end(), [&](const EvalMetrics& eval) {
          return !eval.data.empty() &&
                 fs::path(eval.file).parent_path() == folder;
        });
    if (is_of_others) continue;
    if (auto found = read_near_duplicates(file)) return found;
  }
  return {};
}

/// Chooses the numbers that the run is shown with, and what belongs to them.
void set_metrics(StoredEval own, RunRecord& run) {
  EvalMetrics eval;  // what belongs to the numbers
  if (!run.evaluations.empty()) eval = run.evaluations.front();
  if (own.metrics.empty() && !eval.found.metrics.empty()) {
    own = eval.found;
    run.protocol = eval.protocol;
    run.split = eval.split;
  } else {
    eval = EvalMetrics();  // published numbers of it may be of other data
    for (const EvalMetrics& other : run.evaluations) {
      if (!same_evaluation(run, own, other)) continue;
      add_further(other.found, own);
      eval.intervals.insert(other.intervals.begin(), other.intervals.end());
      if (eval.intervals_rule.empty()) {
        eval.intervals_rule = other.intervals_rule;
      }
      if (eval.reranked_by.empty()) {
        eval.reranked_by = other.reranked_by;
        eval.reranked = other.reranked;
      }
    }
    read_published(run.config, eval);
  }
  run.rules = own.rules;
  run.published_source = eval.published_source;
  run.intervals_rule = eval.intervals_rule;
  run.reranked_by = eval.reranked_by;
  const bool has_before = !run.evals.empty() && run.evals.front().step == 0;
  for (const auto& [name, value, list] : own.metrics) {
    if (!list.empty()) continue;
    RecordedMetric metric = known_metric(name, value);
    if (has_before && run.evals.size() > 1) {
      const auto& before = run.evals.front().metrics;
      const auto found = before.find(name);
      if (found != before.end()) metric.before = found->second;
    }
    const auto found = eval.published.find(name);
    if (found != eval.published.end()) metric.published = found->second;
    const auto interval = eval.intervals.find(name);
    if (interval != eval.intervals.end()) {
      metric.interval = interval->second;
    }
    const auto reranked = eval.reranked.find(name);
    if (reranked != eval.reranked.end()) metric.reranked = reranked->second;
    run.metrics.push_back(std::move(metric));
  }
}

/// The best evaluation: what a finished run says, else by `eval.best`, the
/// first of equal ones, as the trainer keeps it.
std::string best_text(const RunRecord& run, std::optional<BestPoint> best) {
  const RecordedMetric* metric = main_metric(run);
  if (metric == nullptr) return "";
  if (!best || best->metric != metric->name) {
    best.reset();
    const Better better = better_of(metric->name);
    for (const LoggedEval& eval : run.evals) {
      const auto found = eval.metrics.find(metric->name);
      if (found == eval.metrics.end()) continue;
      const double known = best ? best->value : NAN;
      if (!is_better(found->second, known, better)) continue;
      best = BestPoint{metric->name, found->second, eval.epoch, eval.step};
    }
  }
  if (!best) return "";
  std::string split = run.chosen_on.empty() ? run.split : run.chosen_on;
  if (split.empty()) split = scalar_at(run.config, "eval", "split");
  const bool is_known = !split.empty() && split != "auto" && split != "nothing";
  return metric->name + " " + metric_text(best->value, metric->is_share) +
         " at epoch " + std::to_string(best->epoch) +
         (is_known ? ", chosen on the " + split + " split" : "");
}

}  // namespace

RunRecord read_run(const std::string& folder) {
  const RunFolder files(folder);
  RunRecord run;
  run.folder = folder;
  run.finished = files.is_finished();
  const bool logged_any = path_exists(files.log());
  const bool evaluated = !files.eval_files().empty();
  if (!path_exists(files.config()) ||
      !(logged_any || run.finished || evaluated)) {
    throw_no_run(folder);
  }
  run.config = files.read_config();
  run.protocol = scalar_at(run.config, "eval", "protocol");
  if (path_exists(files.left_out())) {
    const std::vector<BrokenImage> left_out = read_left_out(files.left_out());
    if (!left_out.empty()) run.left_out = left_out_text(left_out);
  }
  RunLogFile log;
  if (logged_any) log = read_run_log(files.log());
  run.split = log.split;
  std::optional<BestPoint> best;
  if (run.finished) {
    const RunMetrics metrics = read_run_metrics(files.metrics());
    run.protocol = metrics.protocol;
    run.split = metrics.split;
    run.chosen_on = metrics.chosen_on;
    run.ended_by = metrics.ended_by;
    run.test = metrics.test;
    best = metrics.best;
    if (log.evals.empty()) {
      for (const RunPoint& point : metrics.history) {
        log.evals.push_back(logged(point));
      }
      log.last = metrics.last.value_or(StoredEval());
    }
  }
  run.changes = read_run_changes(files.changes());
  run.phases = std::move(log.phases);
  run.steps = std::move(log.steps);
  run.evals = std::move(log.evals);
  run.evaluations = ordered_evals(read_run_evals(files));
  for (const EvalMetrics& eval : run.evaluations) {
    if (run.corruptions.empty()) run.corruptions = eval.corruptions;
    if (run.compressed.empty()) run.compressed = eval.compressed;
  }
  run.duplicates = near_duplicates(files, run.evaluations);
  set_metrics(std::move(log.last), run);
  run.best = best_text(run, best);
  return run;
}

}  // namespace kith
