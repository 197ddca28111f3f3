#include <algorithm>
#include <cmath>
#include <map>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/mark_chart.h"
#include "kith/study/correlation.h"
#include "kith/study/figure.h"
#include "kith/study/figure_grid.h"
#include "kith/study/figure_metric.h"

namespace kith {
namespace {

struct ScatterOptions : FigureOptions {
  std::string x = "rho";
  std::string y = "recall_any@1";
  std::string points = "combinations";
  std::string colour;

  void describe(OptionSet& set) {
    set.add("x", x, "Metric along x.");
    set.add("y", y, "Metric along y.");
    set.add("points", points,
            "A point for each run, or for each combination, the mean of its "
            "runs with 95% intervals.")
        .choices({"combinations", "runs"});
    set.add("colour", colour,
            "Axis whose labels are told apart by colour. Empty: none.");
    FigureOptions::describe(set);
  }
};

class Scatter final : public Figure {
 public:
  static constexpr const char* kSummary =
      "a metric against another, with Pearson's correlation";
  using Options = ScatterOptions;

  explicit Scatter(Options options) : options_(std::move(options)) {}

  void check(const Study& study) const override {
    measured_metric(study, "scatter", "x", options_.x);
    measured_metric(study, "scatter", "y", options_.y);
    if (!options_.colour.empty() && study.axis(options_.colour) < 0) {
      std::vector<std::string> names;
      for (const StudyAxis& axis : study.axes) names.push_back(axis.name);
      throw_unknown("figure 'scatter', 'colour'", "axis of the study",
                    options_.colour, names);
    }
    make_grid(study, axes());
  }

  std::string draw(const StudyResults& results) const override {
    const FigureMetric x = figure_metric("scatter", "x", options_.x);
    const FigureMetric y = figure_metric("scatter", "y", options_.y);
    MarkChart chart;
    chart.title = options_.title_for(*results.study);
    chart.x_label = x.label;
    chart.y_label = y.label;
    chart.show_names = options_.points == "combinations";
    chart.series = empty_series(*results.study);
    std::vector<double> xs, ys;
    for (const Point& point : points_of(results)) {
      ChartMark mark{x.factor * point.x.mean, y.factor * point.y.mean,
                     x.factor * point.x.half_width,
                     y.factor * point.y.half_width, point.name};
      if (!plottable(mark.x) || !plottable(mark.y)) continue;
      xs.push_back(mark.x);
      ys.push_back(mark.y);
      chart.series[point.colour].marks.push_back(std::move(mark));
    }
    std::erase_if(chart.series, [](const MarkSeries& series) {
      return series.marks.empty();
    });
    chart.note = note_of(xs, ys);
    return mark_chart(chart);
  }

 private:
  struct Point {
    Spread x, y;
    std::string name;
    size_t colour = 0;
  };

  FigureAxes axes() const { return {"scatter", "", "", options_.only}; }

  /// A series for each label of the axis of colours.
  std::vector<MarkSeries> empty_series(const Study& study) const {
    const int64_t axis = study.axis(options_.colour);
    if (options_.colour.empty() || axis < 0) {
      return {{"", {}, MarkStyle::kMarks}};
    }
    std::vector<MarkSeries> series;
    for (const AxisValue& v : study.axes[static_cast<size_t>(axis)].values) {
      series.push_back({v.label, {}, MarkStyle::kMarks, series.size()});
    }
    return series;
  }

  std::vector<Point> points_of(const StudyResults& results) const {
    // Both metrics of a point are of the same runs.
    std::map<std::pair<Labels, int64_t>,
             std::pair<std::vector<double>, std::vector<double>>>
        values;
    for (const RunResult* run : chosen_runs(results, axes())) {
      const auto x = run->metrics.find(options_.x);
      const auto y = run->metrics.find(options_.y);
      if (x == run->metrics.end() || y == run->metrics.end()) continue;
      if (!std::isfinite(x->second) || !std::isfinite(y->second)) continue;
      const int64_t seed = options_.points == "runs" ? run->seed : 0;
      auto& both = values[{run->labels, seed}];
      both.first.push_back(x->second);
      both.second.push_back(y->second);
    }
    std::vector<Point> points;
    for (const auto& [key, both] : values) {
      points.push_back({spread_of(both.first), spread_of(both.second),
                        name_of(*results.study, key.first, key.second),
                        colour_of(*results.study, key.first)});
    }
    return points;
  }

  /// The labels of axes that vary, but for that of the colour, and the seed of
  /// a run.
  std::string name_of(const Study& study, const Labels& labels,
                      int64_t seed) const {
    std::string name;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      const std::string& own = study.axes[axis].name;
      const auto held =
          std::count_if(options_.only.begin(), options_.only.end(),
                        [&](const std::string& entry) {
                          return entry.starts_with(own + "=");
                        });
      if (own == options_.colour || held == 1) continue;
      name += (name.empty() ? "" : ", ") + labels[axis];
    }
    if (options_.points != "runs") return name;
    return name + (name.empty() ? "" : ", ") + "seed " + std::to_string(seed);
  }

  size_t colour_of(const Study& study, const Labels& labels) const {
    const int64_t axis = study.axis(options_.colour);
    if (options_.colour.empty() || axis < 0) return 0;
    const auto place = static_cast<size_t>(axis);
    size_t colour = 0;
    while (study.axes[place].values.at(colour).label != labels[place]) ++colour;
    return colour;
  }

  std::string note_of(const std::vector<double>& xs,
                      const std::vector<double>& ys) const {
    const double r = pearson(xs, ys);
    return (std::isnan(r) ? "no correlation to tell"
                          : "Pearson's r = " + format_fixed(r, 2)) +
           ", " + std::to_string(xs.size()) + " " + options_.points;
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(figure_registry(), "scatter", Scatter);

}  // namespace kith
