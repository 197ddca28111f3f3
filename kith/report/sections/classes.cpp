#include <algorithm>
#include <map>

#include "kith/chart/html.h"
#include "kith/chart/mark_chart.h"
#include "kith/chart/svg.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

constexpr size_t kWorst = 10;
constexpr size_t kMostRows = 1000;  // a page with more opens slowly
constexpr size_t kMostClassPoints = 400;

using Scores = std::map<int64_t, const ClassScore*>;  // by label

/// The classes of the runs of one group, the worst of the last run first.
class GroupClasses {
 public:
  GroupClasses(const Report& report, const ImageGroup& group)
      : report_(report) {
    for (const size_t run : group.runs) {
      const RunInsight* seen = insight_of(report, run);
      if (!seen || seen->classes.empty()) continue;
      runs_.push_back(run);
      Scores& scores = scores_.emplace_back();
      for (const ClassScore& one : seen->classes) scores[one.label] = &one;
    }
    if (runs_.empty()) return;
    for (const auto& [label, score] : scores_.back()) order_.push_back(score);
    std::stable_sort(order_.begin(), order_.end(),
                     [](const ClassScore* a, const ClassScore* b) {
                       return a->recall != b->recall
                                  ? a->recall < b->recall
                                  : a->average_precision < b->average_precision;
                     });
  }

  bool empty() const { return runs_.empty(); }

  std::string html(const std::string& id) const {
    std::string html = chart_figure(id, mark_chart(chart()));
    const size_t all = std::min(order_.size(), kMostRows);
    if (order_.size() <= kWorst) return html + table(all, "Recall by class");
    html += heading(3, "The worst ten" + last_run()) +
            table(kWorst, "The worst ten classes");
    const std::string which =
        all < order_.size()
            ? "The " + count_text(static_cast<int64_t>(all)) + " worst of " +
                  count_text(static_cast<int64_t>(order_.size())) + " classes"
            : "All " + count_text(static_cast<int64_t>(all)) + " classes";
    return html + "<details><summary>" + which + "</summary>\n" +
           table(all, which) + "</details>\n";
  }

 private:
  std::string last_run() const {
    return runs_.size() < 2 ? "" : " of " + run_name(report_, runs_.back());
  }

  /// Each run's classes from its worst to its best.
  MarkChart chart() const {
    MarkChart chart;
    chart.title = "Recall@1 of each class, from worst to best";
    chart.x_label = "classes, %";
    chart.y_label = "Recall@1, %";
    chart.width = kSvgWidth;
    for (size_t i = 0; i < runs_.size(); ++i) {
      std::vector<double> recalls;
      for (const auto& [label, score] : scores_[i]) {
        recalls.push_back(score->recall);
      }
      std::sort(recalls.begin(), recalls.end());
      MarkSeries series;
      series.style = MarkStyle::kCurve;
      series.colour = runs_[i];
      if (report_.runs.size() > 1) series.name = report_.runs[runs_[i]].name;
      const size_t points = std::min(recalls.size(), kMostClassPoints);
      for (size_t k = 0; k < points; ++k) {
        const size_t at = k * recalls.size() / points;
        const double share =
            static_cast<double>(at + 1) / static_cast<double>(recalls.size());
        series.marks.push_back({100.0 * share, 100.0 * recalls[at]});
      }
      chart.series.push_back(series);
    }
    return chart;
  }

  std::string table(size_t rows, const std::string& label) const {
    HtmlTable table;
    table.label = label;
    table.columns = {{"Class", false}, {"Queries", true}};
    const bool one = runs_.size() == 1;
    if (one) {
      table.columns.push_back({"Recall@1", true});
      table.columns.push_back({"Average precision", true});
    }
    for (size_t i = 0; !one && i < runs_.size(); ++i) {
      table.columns.push_back(
          {"Recall@1, " + report_.runs[runs_[i]].name, true});
    }
    for (size_t row = 0; row < rows; ++row) {
      const ClassScore& score = *order_[row];
      std::vector<HtmlCell> cells = {{score.name, ""},
                                     {count_text(score.queries), ""}};
      for (const Scores& scores : scores_) {
        const auto found = scores.find(score.label);
        cells.push_back(
            {found == scores.end() ? "–" : percent_text(found->second->recall),
             ""});
      }
      if (one) cells.push_back({percent_text(score.average_precision), ""});
      table.rows.push_back(std::move(cells));
    }
    return html_table(table);
  }

  const Report& report_;
  std::vector<size_t> runs_;    // with classes
  std::vector<Scores> scores_;  // of each
  std::vector<const ClassScore*> order_;
};

}  // namespace

std::string classes_section(const Report& report) {
  std::string html;
  for (size_t i = 0; i < report.groups.size(); ++i) {
    const GroupClasses classes(report, report.groups[i]);
    if (!classes.empty()) html += classes.html("classes-" + std::to_string(i));
  }
  return html;
}

}  // namespace kith
