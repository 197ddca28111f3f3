// Time and memory.

#include <algorithm>
#include <cmath>

#include "kith/chart/share_bars.h"
#include "kith/core/number_text.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"
#include "kith/report/step_sums.h"

namespace kith {
namespace {

/// The phases of all runs, each once.
std::vector<std::string> phases_of(const Report& report) {
  std::vector<std::string> phases;
  for (const RunRecord& run : report.runs) {
    for (const std::string& phase : run.phases) {
      if (std::find(phases.begin(), phases.end(), phase) == phases.end()) {
        phases.push_back(phase);
      }
    }
  }
  return phases;
}

std::string rounded(double count) {
  constexpr double kMost = 1e15;
  return count >= 0 && count <= kMost ? count_text(std::llround(count)) : kDash;
}

/// The sums of all runs, and tables of them with a row a quantity.
class Costs {
 public:
  explicit Costs(const Report& report)
      : report_(report), phases_(phases_of(report)) {
    for (const RunRecord& run : report.runs) sums_.push_back(sum_steps(run));
  }

  std::string bars() const {
    if (phases_.empty()) return "";
    ShareBars chart;
    chart.title = "Where the time of a step goes";
    chart.unit = "s in all";
    chart.parts = phases_;
    for (size_t run = 0; run < sums_.size(); ++run) {
      ShareRow row;
      if (sums_.size() > 1) row.name = report_.runs[run].name;
      for (const std::string& phase : phases_) {
        const size_t place = place_of(run, phase);
        row.values.push_back(place == kNone ? NAN
                                            : sums_[run].phase_seconds[place]);
      }
      chart.rows.push_back(std::move(row));
    }
    return "<div class=\"charts wide\">\n" +
           chart_figure("phases", share_bars(chart)) + "</div>\n";
  }

  std::string speed_table() const {
    HtmlTable table = table_of_runs(report_, "", "Speed", /*numbers=*/true);
    add_row(table, "Images a second", "median over steps",
            [](const auto& s) { return rounded(s.images_per_second); });
    add_row(table, "Time of a step", "median",
            [](const auto& s) { return duration_text(s.step_seconds); });
    add_row(table, "Steps", "", [](const auto& s) { return rounded(s.steps); });
    add_row(table, "Images seen", "",
            [](const auto& s) { return rounded(s.images); });
    add_row(table, "Time of all steps", "",
            [](const auto& s) { return duration_text(s.seconds); });
    add_row(table, "Time of evaluations", "", [](const auto& s) {
      return s.eval_seconds > 0 ? duration_text(s.eval_seconds) : kDash;
    });
    add_row(table, "Peak memory", "", [](const auto& s) {
      return memory_text(
          s.peak_mb.empty()
              ? 0
              : *std::max_element(s.peak_mb.begin(), s.peak_mb.end()));
    });
    return html_table(table);
  }

  /// Mean time and, below it, peak memory of each phase.
  std::string phase_table() const {
    if (phases_.empty()) return "";
    HtmlTable table =
        table_of_runs(report_, "Phase", "Time and memory by phase",
                      /*numbers=*/true);
    for (const std::string& phase : phases_) {
      std::vector<HtmlCell> row = {{phase, ""}};
      for (size_t run = 0; run < sums_.size(); ++run) {
        const StepSums& sums = sums_[run];
        const size_t place = place_of(run, phase);
        if (place == kNone || sums.steps <= 0) {
          row.push_back({kDash, ""});
          continue;
        }
        row.push_back({duration_text(sums.phase_seconds[place] / sums.steps),
                       memory_text(sums.peak_mb[place])});
      }
      table.rows.push_back(std::move(row));
    }
    return folded(
        "Time and memory by phase",
        html_table(table) + note("The mean time in a step and, small, the peak "
                                 "memory: on a GPU the most that tensors held "
                                 "during the phase, on a CPU the most that the "
                                 "whole program held until then."));
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  size_t place_of(size_t run, const std::string& phase) const {
    const std::vector<std::string>& phases = report_.runs[run].phases;
    const auto found = std::find(phases.begin(), phases.end(), phase);
    return found == phases.end() ? kNone
                                 : static_cast<size_t>(found - phases.begin());
  }

  template <class Text>
  void add_row(HtmlTable& table, const std::string& title,
               const std::string& small, const Text& text) const {
    std::vector<HtmlCell> row = {{title, small}};
    for (const StepSums& sums : sums_) {
      row.push_back({sums.steps > 0 ? text(sums) : kDash, ""});
    }
    table.rows.push_back(std::move(row));
  }

  const Report& report_;
  std::vector<std::string> phases_;
  std::vector<StepSums> sums_;
};

}  // namespace

std::string cost_section(const Report& report) {
  const bool trained =
      std::any_of(report.runs.begin(), report.runs.end(),
                  [](const RunRecord& run) { return !run.steps.empty(); });
  if (!trained) return "";
  const Costs costs(report);
  return "<div class=\"costs\">\n" + costs.speed_table() + costs.bars() +
         costs.phase_table() + "</div>\n";
}

}  // namespace kith
