// Losses, learning rates and gradients by step; metrics by epoch.

#include <algorithm>
#include <cmath>
#include <set>

#include "kith/chart/chart.h"
#include "kith/report/metric_record.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"
#include "kith/report/step_sums.h"

namespace kith {
namespace {

/// A chart with a line for each run, so that run n has the n-th colour in all.
template <class Points>
LineChart chart_of_runs(const Report& report, const std::string& title,
                        const std::string& x_label, const Points& points) {
  LineChart chart;
  chart.title = title;
  chart.x_label = x_label;
  for (const RunRecord& run : report.runs) {
    chart.series.push_back(
        {report.runs.size() > 1 ? run.name : "", points(run)});
  }
  return chart;
}

/// Steps of runs with batches of different sizes are not the same work.
bool batches_differ(const Report& report) {
  std::set<int64_t> sizes;
  for (const RunRecord& run : report.runs) {
    if (!run.steps.empty()) sizes.insert(run.steps.front().images);
  }
  return sizes.size() > 1;
}

/// Charts of what every step logs.
class StepCharts {
 public:
  explicit StepCharts(const Report& report)
      : report_(report), by_images_(batches_differ(report)) {
    for (const RunRecord& run : report.runs) {
      most_ = std::max(most_, run.steps.size());
    }
  }

  std::string html() const {
    if (most_ == 0) return "";
    return draw("loss", "Training loss", &LoggedStep::loss, /*smooth=*/true) +
           draw("learning_rate", "Learning rate", &LoggedStep::lr, false) +
           draw("gradient_norm", "Gradient norm", &LoggedStep::grad_norm, true);
  }

  /// What has to be known to compare the losses.
  std::string note() const {
    std::set<std::string> losses;
    for (const RunRecord& run : report_.runs) {
      const ConfigNode* loss = run.config.find("loss");
      if (loss != nullptr) losses.insert(to_yaml(*loss));
    }
    return most_ > 0 && losses.size() > 1
               ? "The runs have different losses: compare the course of their "
                 "curves, not the height."
               : "";
  }

 private:
  std::vector<ChartPoint> points(const RunRecord& run,
                                 double LoggedStep::*value) const {
    std::vector<double> images;
    if (by_images_) images = images_seen(run);
    std::vector<ChartPoint> points;
    points.reserve(run.steps.size());
    for (size_t i = 0; i < run.steps.size(); ++i) {
      const LoggedStep& step = run.steps[i];
      points.push_back(
          {by_images_ ? images[i] / 1000 : static_cast<double>(step.step),
           step.*value});
    }
    return points;
  }

  std::string draw(const std::string& id, const std::string& title,
                   double LoggedStep::*value, bool smooth) const {
    LineChart chart = chart_of_runs(
        report_, title, by_images_ ? "thousand images seen" : "step",
        [&](const RunRecord& run) { return points(run, value); });
    // Averages over about a thirtieth of the longest run.
    constexpr double kAverages = 30;
    if (smooth) {
      chart.smoothing =
          1 - std::min(1.0, kAverages / static_cast<double>(most_ + 1));
    }
    return chart_figure(id, line_chart(chart));
  }

  const Report& report_;
  bool by_images_;
  size_t most_ = 0;
};

/// Whether a run was tested often enough for a curve: the untrained network
/// and one more test are two numbers in the table of results.
bool has_course(const RunRecord& run) {
  return std::count_if(run.evals.begin(), run.evals.end(),
                       [](const LoggedEval& eval) { return eval.step > 0; }) >
         1;
}

std::string metric_chart(const Report& report, const RecordedMetric& metric) {
  const double unit = metric.is_share ? 100 : 1;
  LineChart chart =
      chart_of_runs(report, metric.name, "epoch", [&](const RunRecord& run) {
        std::vector<ChartPoint> points;
        for (const LoggedEval& eval : run.evals) {
          const auto found = eval.metrics.find(metric.name);
          if (found == eval.metrics.end()) continue;
          points.push_back(
              {static_cast<double>(eval.epoch), unit * found->second});
        }
        return points;
      });
  if (metric.is_share) chart.y_label = "%";
  return chart_figure("metric-" + metric.name, line_chart(chart));
}

/// The metrics that were followed, the main one first.
std::vector<RecordedMetric> followed_metrics(const Report& report) {
  std::vector<RecordedMetric> metrics;
  for (const RecordedMetric& metric : metrics_of(report.runs)) {
    const bool followed = std::any_of(
        report.runs.begin(), report.runs.end(), [&](const RunRecord& run) {
          return has_course(run) &&
                 run.evals.back().metrics.contains(metric.name);
        });
    if (followed) metrics.push_back(metric);
  }
  const RecordedMetric* main = nullptr;
  for (const RunRecord& run : report.runs) {
    if (main == nullptr) main = main_metric(run);
  }
  if (main != nullptr) {
    std::stable_partition(
        metrics.begin(), metrics.end(),
        [&](const RecordedMetric& m) { return m.name == main->name; });
  }
  return metrics;
}

std::string charts(const std::string& figures) {
  return "<div class=\"charts\">\n" + figures + "</div>\n";
}

/// All metrics but the first; folded if they are many.
std::string further_charts(const Report& report,
                           const std::vector<RecordedMetric>& metrics) {
  constexpr size_t kMostShown = 4;
  std::string figures;
  for (size_t i = 1; i < metrics.size(); ++i) {
    figures += metric_chart(report, metrics[i]);
  }
  if (figures.empty()) return "";
  if (metrics.size() - 1 <= kMostShown) return charts(figures);
  return folded(std::to_string(metrics.size() - 1) + " more metrics by epoch",
                charts(figures));
}

}  // namespace

std::string curves_section(const Report& report) {
  const StepCharts steps(report);
  const std::vector<RecordedMetric> metrics = followed_metrics(report);
  std::string figures;
  if (!metrics.empty()) figures += metric_chart(report, metrics[0]);
  figures += steps.html();
  if (figures.empty()) return "";
  return charts(figures) + note(steps.note()) + further_charts(report, metrics);
}

}  // namespace kith
