#include <limits>

#include "kith/chart/heat_map.h"
#include "kith/study/correlation.h"
#include "kith/study/figure.h"
#include "kith/study/figure_grid.h"
#include "kith/study/figure_metric.h"

namespace kith {
namespace {

struct CorrelationsOptions : FigureOptions {
  std::vector<std::string> metrics;
  std::string method = "pearson";

  void describe(OptionSet& set) {
    set.add("metrics", metrics, "Metrics. Empty: those of the study's table.");
    set.add("method", method, "Of the numbers, or of their ranks.")
        .choices({"pearson", "spearman"});
    FigureOptions::describe(set);
  }
};

class Correlations final : public Figure {
 public:
  static constexpr const char* kSummary =
      "correlations between metrics over all runs, as a matrix";
  using Options = CorrelationsOptions;

  explicit Correlations(Options options) : options_(std::move(options)) {}

  void check(const Study& study) const override {
    for (const std::string& name : options_.metrics) {
      measured_metric(study, "correlations", "metrics", name);
    }
    make_grid(study, axes());
  }

  std::string draw(const StudyResults& results) const override {
    const Study& study = *results.study;
    HeatMap map;
    map.title = options_.title_for(study);
    map.names = options_.metrics.empty() ? study.metrics : options_.metrics;
    map.size = map.names.size();
    const std::vector<const RunResult*> runs = chosen_runs(results, axes());
    std::vector<std::vector<double>> columns;
    for (const std::string& name : map.names) {
      columns.push_back(column(runs, name));
    }
    const bool ranks = options_.method == "spearman";
    for (const std::vector<double>& a : columns) {
      for (const std::vector<double>& b : columns) {
        map.values.push_back(ranks ? spearman(a, b) : pearson(a, b));
      }
    }
    map.note = std::string(ranks ? "Spearman's" : "Pearson's") +
               " correlation over " + std::to_string(runs.size()) + " runs";
    return heat_map(map);
  }

 private:
  FigureAxes axes() const { return {"correlations", "", "", options_.only}; }

  /// NaN where a run has no such number.
  static std::vector<double> column(const std::vector<const RunResult*>& runs,
                                    const std::string& metric) {
    std::vector<double> values;
    for (const RunResult* run : runs) {
      const auto found = run->metrics.find(metric);
      values.push_back(found == run->metrics.end()
                           ? std::numeric_limits<double>::quiet_NaN()
                           : found->second);
    }
    return values;
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(figure_registry(), "correlations", Correlations);

}  // namespace kith
