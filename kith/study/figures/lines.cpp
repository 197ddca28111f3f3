#include <charconv>
#include <cmath>

#include "kith/chart/mark_chart.h"
#include "kith/core/error.h"
#include "kith/study/figure.h"
#include "kith/study/figure_grid.h"
#include "kith/study/figure_metric.h"

namespace kith {
namespace {

struct LinesOptions : FigureOptions {
  std::string x;
  std::string y = "recall_any@1";
  std::string series;
  std::string scale = "linear";

  void describe(OptionSet& set) {
    set.add("x", x, "Axis of the study along x; its labels are numbers.");
    set.add("y", y, "Metric.");
    set.add("series", series,
            "Axes with a line for each label, with commas between. Empty: all "
            "others.");
    set.add("scale", scale, "Of the x axis.").choices({"linear", "log"});
    FigureOptions::describe(set);
  }
};

bool read_number(const std::string& text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

class Lines final : public Figure {
 public:
  static constexpr const char* kSummary =
      "a metric against an axis of numbers, with 95% intervals over seeds";
  using Options = LinesOptions;

  explicit Lines(Options options) : options_(std::move(options)) {}

  void check(const Study& study) const override {
    measured_metric(study, "lines", "y", options_.y);
    if (options_.x.empty()) {
      throw ConfigError("figure 'lines' needs 'x', an axis of the study");
    }
    for (const std::string& label : make_grid(study, axes()).x_labels) {
      double x = 0.0;
      if (!read_number(label, x)) {
        throw ConfigError("figure 'lines', 'x': '" + label + "' of axis '" +
                          options_.x + "' is not a number; 'bars' draws names");
      }
      if (options_.scale == "log" && x <= 0.0) {
        throw ConfigError("figure 'lines', 'scale': " + label +
                          " has no place on a logarithmic axis");
      }
    }
  }

  std::string draw(const StudyResults& results) const override {
    const FigureMetric metric = figure_metric("lines", "y", options_.y);
    const FigureGrid grid = make_grid(*results.study, axes());
    MarkChart chart;
    chart.title = options_.title_for(*results.study);
    chart.x_label = options_.x;
    chart.y_label = metric.label;
    chart.log_x = options_.scale == "log";
    chart.ticks_at_marks = true;
    MarkSeries published{"published", {}, MarkStyle::kRings};
    std::vector<int64_t> counts;
    for (size_t i = 0; i < grid.series.size(); ++i) {
      MarkSeries line{grid.series[i].name, {}, MarkStyle::kJoined, i};
      for (const std::string& label : grid.x_labels) {
        double x = 0.0;
        if (!read_number(label, x)) continue;
        const Labels labels = grid.at(grid.series[i], label);
        const Spread spread = spread_of(results.values(labels, options_.y));
        const double paper =
            published_percent(*results.study, labels, options_.y);
        if (std::isfinite(paper)) {
          published.marks.push_back({x, paper, 0, 0, line.name});
        }
        if (spread.count == 0) continue;
        counts.push_back(spread.count);
        line.marks.push_back({x, metric.factor * spread.mean, 0,
                              metric.factor * spread.half_width});
      }
      if (!line.marks.empty()) chart.series.push_back(std::move(line));
    }
    if (!published.marks.empty()) chart.series.push_back(std::move(published));
    chart.note = seeds_note(counts);
    return mark_chart(chart);
  }

 private:
  FigureAxes axes() const {
    return {"lines", options_.x, options_.series, options_.only};
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(figure_registry(), "lines", Lines);

}  // namespace kith
