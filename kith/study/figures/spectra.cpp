#include <algorithm>
#include <cmath>

#include "kith/chart/mark_chart.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/study/figure.h"
#include "kith/study/figure_grid.h"
#include "kith/study/figure_metric.h"

namespace kith {
namespace {

struct SpectraOptions : FigureOptions {
  std::string y = "spectrum";
  std::string series;
  std::string scale = "linear";
  int64_t length = 0;

  void describe(OptionSet& set) {
    set.add("y", y, "Metric: 'spectrum' or 'class_spectrum'.");
    set.add("series", series,
            "Axes with a curve for each label, with commas between. Empty: "
            "all.");
    set.add("scale", scale, "Of the y axis.").choices({"linear", "log"});
    set.add("length", length, "The largest values that are drawn; 0: all.")
        .range(0);
    FigureOptions::describe(set);
  }
};

/// The list that a run's last evaluation measured. Empty if there is none.
std::vector<double> read_list(const std::string& folder,
                              const std::string& metric) {
  const RunFolder run(folder);
  if (!run.is_finished()) return {};  // folds have none together
  const RunMetrics metrics = read_run_metrics(run.metrics());
  if (!metrics.last) return {};
  const StoredMetric* found = metrics.last->find(metric);
  return found == nullptr ? std::vector<double>() : found->list;
}

class Spectra final : public Figure {
 public:
  static constexpr const char* kSummary =
      "singular values of the embeddings, mean and 95% band over seeds";
  using Options = SpectraOptions;

  explicit Spectra(Options options) : options_(std::move(options)) {}

  void check(const Study& study) const override {
    measured_metric(study, "spectra", "y", options_.y, /*list=*/true);
    make_grid(study, axes());
  }

  std::string draw(const StudyResults& results) const override {
    const FigureGrid grid = make_grid(*results.study, axes());
    MarkChart chart;
    chart.title = options_.title_for(*results.study);
    chart.x_label = "singular value, the largest first";
    chart.y_label = "share of their sum (" + options_.y + ")";
    chart.log_y = options_.scale == "log";
    std::vector<int64_t> counts;
    for (size_t i = 0; i < grid.series.size(); ++i) {
      MarkSeries curve{grid.series[i].name, {}, MarkStyle::kCurve, i};
      const auto columns = columns_of(results, grid.series[i].labels);
      for (size_t n = 0; n < columns.size(); ++n) {
        const Spread spread = spread_of(columns[n]);
        if (spread.count == 0) continue;
        counts.push_back(spread.count);
        curve.marks.push_back(
            {static_cast<double>(n + 1), spread.mean, 0, spread.half_width});
      }
      if (!curve.marks.empty()) chart.series.push_back(std::move(curve));
    }
    chart.note = seeds_note(counts);
    return mark_chart(chart);
  }

 private:
  FigureAxes axes() const {
    return {"spectra", "", options_.series, options_.only};
  }

  /// For each place in the spectrum its values by seed.
  std::vector<std::vector<double>> columns_of(const StudyResults& results,
                                              const Labels& labels) const {
    std::vector<std::vector<double>> columns;
    for (const RunResult& run : results.runs) {
      if (run.labels != labels) continue;
      const std::vector<double> values = read_list(run.folder, options_.y);
      size_t length = values.size();
      if (options_.length > 0) {
        length = std::min(length, static_cast<size_t>(options_.length));
      }
      if (columns.size() < length) columns.resize(length);
      for (size_t n = 0; n < length; ++n) {
        if (std::isfinite(values[n])) columns[n].push_back(values[n]);
      }
    }
    return columns;
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(figure_registry(), "spectra", Spectra);

}  // namespace kith
