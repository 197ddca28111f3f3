#include <cmath>
#include <map>

#include "kith/chart/mark_chart.h"
#include "kith/study/figure.h"
#include "kith/study/figure_grid.h"
#include "kith/study/figure_metric.h"

namespace kith {
namespace {

struct CurvesOptions : FigureOptions {
  std::string x = "epoch";
  std::string y = "recall_any@1";
  std::string series;

  void describe(OptionSet& set) {
    set.add("x", x, "What runs along x.").choices({"epoch", "step"});
    set.add("y", y, "Metric.");
    set.add("series", series,
            "Axes with a curve for each label, with commas between. Empty: "
            "all.");
    FigureOptions::describe(set);
  }
};

class Curves final : public Figure {
 public:
  static constexpr const char* kSummary =
      "learning curves: a metric against epoch or step, mean and 95% band over "
      "seeds";
  using Options = CurvesOptions;

  explicit Curves(Options options) : options_(std::move(options)) {}

  void check(const Study& study) const override {
    measured_metric(study, "curves", "y", options_.y);
    make_grid(study, axes());
  }

  std::string draw(const StudyResults& results) const override {
    const FigureMetric metric = figure_metric("curves", "y", options_.y);
    const FigureGrid grid = make_grid(*results.study, axes());
    MarkChart chart;
    chart.title = options_.title_for(*results.study);
    chart.x_label = options_.x;
    chart.y_label = metric.label;
    std::vector<int64_t> counts;
    for (size_t i = 0; i < grid.series.size(); ++i) {
      MarkSeries curve{grid.series[i].name, {}, MarkStyle::kCurve, i};
      for (const auto& [x, values] : points_of(results, grid.series[i])) {
        const Spread spread = spread_of(values);
        counts.push_back(spread.count);
        curve.marks.push_back({static_cast<double>(x),
                               metric.factor * spread.mean, 0,
                               metric.factor * spread.half_width});
      }
      if (!curve.marks.empty()) chart.series.push_back(std::move(curve));
    }
    chart.note = seeds_note(counts);
    return mark_chart(chart);
  }

 private:
  FigureAxes axes() const {
    return {"curves", "", options_.series, options_.only};
  }

  /// Values of all seeds by epoch or step, rising.
  std::map<int64_t, std::vector<double>> points_of(
      const StudyResults& results, const FigureGrid::Series& series) const {
    std::map<int64_t, std::vector<double>> points;
    for (const RunResult& run : results.runs) {
      if (run.labels != series.labels) continue;
      for (const CurvePoint& point : run.curve) {
        const auto value = point.metrics.find(options_.y);
        if (value == point.metrics.end() || !std::isfinite(value->second)) {
          continue;
        }
        points[options_.x == "step" ? point.step : point.epoch].push_back(
            value->second);
      }
    }
    return points;
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(figure_registry(), "curves", Curves);

}  // namespace kith
