#include <algorithm>
#include <cmath>
#include <numeric>

#include "kith/chart/dot_chart.h"
#include "kith/core/error.h"
#include "kith/eval/metric.h"
#include "kith/study/figure.h"
#include "kith/study/figure_grid.h"
#include "kith/study/figure_metric.h"

namespace kith {
namespace {

struct BarsOptions : FigureOptions {
  std::string x;
  std::string y = "recall_any@1";
  std::string series;
  bool from_zero = false;
  bool sort = false;

  void describe(OptionSet& set) {
    set.add("x", x, "Axis of the study with a row for each label.");
    set.add("y", y, "Metric.");
    set.add("series", series,
            "Axes that are told apart by colour, with commas between. Empty: "
            "all others.");
    set.add("from_zero", from_zero,
            "Bars from zero, instead of dots on an axis that fits the values.");
    set.add("sort", sort, "The best first, by the first series.");
    FigureOptions::describe(set);
  }
};

/// The rows by the first series' values, the best first and missing ones last;
/// the largest first if no value is better.
void sort_rows(DotChart& chart, Better better) {
  if (chart.series.empty()) return;
  std::vector<size_t> order(chart.groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const std::vector<DotValue> first = chart.series[0].values;
  const auto key = [&](size_t i) {
    if (!std::isfinite(first[i].value)) return HUGE_VAL;
    return better == Better::kSmaller ? first[i].value : -first[i].value;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return key(a) < key(b); });
  const std::vector<std::string> groups = chart.groups;
  for (size_t i = 0; i < order.size(); ++i) chart.groups[i] = groups[order[i]];
  for (DotSeries& series : chart.series) {
    const std::vector<DotValue> values = series.values;
    for (size_t i = 0; i < order.size(); ++i) {
      series.values[i] = values[order[i]];
    }
  }
}

class Bars final : public Figure {
 public:
  static constexpr const char* kSummary =
      "a metric for each label of an axis, with 95% intervals over seeds";
  using Options = BarsOptions;

  explicit Bars(Options options) : options_(std::move(options)) {}

  void check(const Study& study) const override {
    measured_metric(study, "bars", "y", options_.y);
    if (options_.x.empty()) {
      throw ConfigError("figure 'bars' needs 'x', an axis of the study");
    }
    make_grid(study, axes());
  }

  std::string draw(const StudyResults& results) const override {
    const FigureMetric metric = figure_metric("bars", "y", options_.y);
    const FigureGrid grid = make_grid(*results.study, axes());
    DotChart chart;
    chart.title = options_.title_for(*results.study);
    chart.value_label = metric.label;
    chart.groups = grid.x_labels;
    chart.from_zero = options_.from_zero;
    std::vector<int64_t> counts;
    for (size_t i = 0; i < grid.series.size(); ++i) {
      DotSeries series{grid.series[i].name, {}, i};
      for (const std::string& label : grid.x_labels) {
        const Labels labels = grid.at(grid.series[i], label);
        const Spread spread = spread_of(results.values(labels, options_.y));
        if (spread.count > 0) counts.push_back(spread.count);
        series.values.push_back(
            {metric.factor * spread.mean, metric.factor * spread.half_width,
             published_percent(*results.study, labels, options_.y)});
      }
      chart.series.push_back(std::move(series));
    }
    if (options_.sort) sort_rows(chart, better_of(options_.y));
    chart.note = seeds_note(counts);
    return dot_chart(chart);
  }

 private:
  FigureAxes axes() const {
    return {"bars", options_.x, options_.series, options_.only};
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(figure_registry(), "bars", Bars);

}  // namespace kith
