#include "kith/run/run_events.h"

#include <algorithm>

#include "kith/eval/examples_picture.h"
#include "kith/eval/query_neighbours.h"
#include "kith/eval/similarity_histogram.h"

namespace kith {
namespace {

constexpr int64_t kNeighbours = 6;
constexpr int kCell = 64;  // pixels
constexpr int64_t kBins = 100;
/// Compared with the whole gallery for the histograms: enough for their shape.
constexpr int64_t kHistogramQueries = 1000;

/// What the names of an evaluation's curves begin with.
std::string group_of(const Evaluation& evaluation) {
  return "eval/" + (evaluation.on.empty() ? "" : evaluation.on + "/");
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes >> 20); }

}  // namespace

RunEvents::RunEvents(const std::string& folder, int64_t first_step,
                     const DataSet& data, const RunEventsOptions& options)
    : file_(folder, first_step), data_(data), options_(options) {}

void RunEvents::write(const StepRecord& record) {
  EventSummary summary;
  summary.add_scalar("train/loss", record.loss);
  summary.add_scalar("train/learning_rate", record.lr);
  summary.add_scalar("train/gradient_norm", record.grad_norm);
  for (const auto& [name, value] : record.stats) {
    summary.add_scalar("train/" + name, value);
  }
  for (const auto& [name, phase] : record.phases.all()) {
    summary.add_scalar(std::string("time/") + name, phase.seconds);
    summary.add_scalar(std::string("memory/") + name,
                       megabytes(phase.peak_bytes));
  }
  const double seconds = record.phases.seconds();
  summary.add_scalar("time/step", seconds);
  summary.add_scalar(
      "time/images_per_second",
      static_cast<double>(record.images) / std::max(seconds, 1e-9));
  if (record.sampler_seconds > 0) {
    summary.add_scalar("time/sampler", record.sampler_seconds);
  }
  summary.add_scalar("memory/peak", megabytes(record.phases.peak_bytes()));
  file_.write(record.step, summary);
}

void RunEvents::write(const Evaluation& evaluation) {
  EventSummary summary;
  for (const MetricValue& metric : evaluation.result.metrics) {
    if (!metric.list.empty()) continue;
    summary.add_scalar(group_of(evaluation) + metric.name, metric.value);
  }
  summary.add_scalar("time/evaluation", evaluation.seconds);
  add_similarities(evaluation, summary);
  if (options_.examples > 0) add_examples(evaluation, summary);
  file_.write(evaluation.step, summary);
}

void RunEvents::add_similarities(const Evaluation& evaluation,
                                 EventSummary& summary) const {
  const EmbeddedSplit& split = evaluation.split;
  const SimilarityCounts counts =
      similarity_counts(split.scored(split.tasks.front()), kBins,
                        kHistogramQueries, options_.seed);
  summary.add_histogram(group_of(evaluation) + "similarity/positive", -1, 1,
                        counts.positive);
  summary.add_histogram(group_of(evaluation) + "similarity/negative", -1, 1,
                        counts.negative);
}

void RunEvents::add_examples(const Evaluation& evaluation,
                             EventSummary& summary) const {
  const EmbeddedSplit& split = evaluation.split;
  const EvalTask& task = split.tasks.front();
  const std::vector<int64_t> places =
      draw_queries(task, options_.examples, options_.seed);
  std::vector<int64_t> items;
  for (const int64_t place : places) {
    items.push_back(task.queries[static_cast<size_t>(place)]);
  }
  summary.add_image(
      group_of(evaluation) + "examples",
      examples_picture(data_, items,
                       query_neighbours(split, task, places, kNeighbours),
                       kCell));
}

}  // namespace kith
