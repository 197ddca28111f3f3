#include "kith/study/summary.h"

#include <algorithm>
#include <cmath>

#include "kith/eval/metric.h"

namespace kith {
namespace {

/// Marks the best mean of each column, by what its metric says is better. Where
/// a row has too few runs for an interval, another seed may change the order.
void mark_best(const Study& study, StudySummary& summary) {
  if (summary.rows.size() < 2) return;
  for (size_t m = 0; m < study.metrics.size(); ++m) {
    const Better better = better_of(study.kind(study.metrics[m]));
    StudyCell* best = nullptr;
    bool has_intervals = true;
    for (StudyRow& row : summary.rows) {
      StudyCell& cell = row.cells[m];
      if (cell.spread.count == 0) continue;
      has_intervals &= cell.spread.count >= kLeastRunsOfInterval;
      const double known = best == nullptr ? NAN : best->spread.mean;
      if (is_better(cell.spread.mean, known, better)) best = &cell;
    }
    if (best != nullptr && has_intervals) best->best = true;
  }
}

/// The interval of a metric of the only run of a combination.
std::optional<Interval> only_interval(const StudyResults& results,
                                      const Labels& labels,
                                      const std::string& metric) {
  std::optional<Interval> interval;
  int64_t runs = 0;
  for (const RunResult& run : results.runs) {
    if (run.labels != labels) continue;
    ++runs;
    const auto found = run.intervals.find(metric);
    if (found != run.intervals.end()) interval = found->second;
  }
  return runs == 1 ? interval : std::nullopt;
}

/// Runs of one study may differ, for an axis may be the data.
std::string what_is_measured(const std::vector<RunResult>& runs) {
  const auto is_chosen = [](const RunResult& run) {
    return run.chosen_on_validation;
  };
  const auto is_validation = [](const RunResult& run) {
    return run.split == "validation";
  };
  if (runs.empty()) return "";
  if (std::all_of(runs.begin(), runs.end(), is_chosen)) {
    return "Test split, with the checkpoint that the validation split chose.";
  }
  if (std::all_of(runs.begin(), runs.end(), is_validation)) {
    return "Validation split.";
  }
  const bool differ = std::any_of(runs.begin(), runs.end(), is_chosen) ||
                      std::any_of(runs.begin(), runs.end(), is_validation);
  return differ ? "Not all runs are of the last checkpoint on the test split: "
                  "their metrics.json says of which they are."
                : "";
}

}  // namespace

StudySummary summarise(const StudyResults& results) {
  const Study& study = *results.study;
  StudySummary summary;
  summary.has_published.resize(study.metrics.size());
  for (const StudyRun& run : study_runs(study)) {
    if (!summary.rows.empty() && summary.rows.back().labels == run.labels) {
      continue;  // another seed
    }
    StudyRow row;
    row.labels = run.labels;
    row.runs = std::count_if(
        results.runs.begin(), results.runs.end(),
        [&](const RunResult& r) { return r.labels == run.labels; });
    const PublishedRow* published = published_row(study, run.labels);
    for (size_t m = 0; m < study.metrics.size(); ++m) {
      StudyCell cell;
      cell.spread = spread_of(results.values(run.labels, study.metrics[m]));
      cell.interval = only_interval(results, run.labels, study.metrics[m]);
      if (published != nullptr && published->percent.count(study.metrics[m])) {
        cell.published = published->percent.at(study.metrics[m]);
        summary.has_published[m] = true;
      }
      row.cells.push_back(cell);
    }
    summary.rows.push_back(std::move(row));
  }
  mark_best(study, summary);
  summary.what = what_is_measured(results.runs);
  return summary;
}

}  // namespace kith
