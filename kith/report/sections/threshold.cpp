// What a threshold of similarity does, if kith eval was asked.

#include <cmath>

#include "kith/chart/chart.h"
#include "kith/chart/html.h"
#include "kith/core/number_text.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

/// Of the run's own data and network, where there are several.
const EvalMetrics* with_decision(const RunRecord& run) {
  for (const EvalMetrics& eval : run.evaluations) {
    if (eval.decision) return &eval;
  }
  return nullptr;
}

std::string share_text(const StoredDecision& decision,
                       const std::string& name) {
  const auto found = decision.rates.find(name);
  if (found == decision.rates.end() || std::isnan(found->second)) return kDash;
  std::string text = small_share_text(found->second) + "%";
  const auto interval = decision.intervals.find(name);
  if (interval == decision.intervals.end()) return text;
  return text + " [" + small_share_text(interval->second.low) + ", " +
         small_share_text(interval->second.high) + "]";
}

/// Two lists of shares as points, in percent; a logarithm where an axis has
/// powers of ten.
std::vector<ChartPoint> percent_points(const std::vector<double>& x,
                                       const std::vector<double>& y,
                                       double (*of_x)(double)) {
  std::vector<ChartPoint> points;
  for (size_t i = 0; i < x.size(); ++i) {
    points.push_back({of_x(x[i]), 100 * y[i]});
  }
  return points;
}

LineChart rates_chart(const DecisionCurve& curve) {
  const auto as_it_is = [](double x) { return x; };
  LineChart chart;
  chart.title = "What a threshold accepts";
  chart.x_label = "threshold";
  chart.y_label = "%";
  chart.series = {{"pairs of one class",
                   percent_points(curve.threshold, curve.tar, as_it_is)},
                  {"pairs of two classes",
                   percent_points(curve.threshold, curve.far, as_it_is)},
                  {"first answers",
                   percent_points(curve.threshold, curve.coverage, as_it_is)},
                  {"of them right",
                   percent_points(curve.threshold, curve.precision, as_it_is)}};
  chart.reach = {{curve.threshold.front(), 0}, {curve.threshold.back(), 100}};
  return chart;
}

/// True against false, whose axis has the powers of ten.
LineChart errors_chart(const DecisionCurve& curve) {
  const auto power = [](double x) {
    return x > 0 ? std::log10(x) : std::nan("");
  };
  LineChart chart;
  chart.title = "Right against wrong";
  chart.x_label = "share wrongly accepted: -2 is 1%, -3 is 0.1%";
  chart.y_label = "rightly accepted, %";
  chart.series = {
      {"pairs: TAR at FAR", percent_points(curve.far, curve.tar, power)},
      {"open set: TPIR at FPIR",
       percent_points(curve.fpir, curve.tpir, power)}};
  chart.reach = {{0, 0}, {0, 100}};
  return chart;
}

std::string sentence_of(const EvalMetrics& eval) {
  const StoredDecision& decision = *eval.decision;
  std::string text = "Threshold " + format_fixed(decision.threshold, 4);
  if (decision.interval) {
    text += " [" + format_fixed(decision.interval->low, 4) + ", " +
            format_fixed(decision.interval->high, 4) + "]";
  }
  return text + ", " + decision.meaning + ". On the " + eval.split +
         " split it accepts " + share_text(decision, "tar") +
         " of the pairs of one class and " + share_text(decision, "far") +
         " of those of two; " + share_text(decision, "coverage") +
         " of the first answers, of which " +
         share_text(decision, "precision") +
         " are right. With classes left out of the gallery, " +
         share_text(decision, "fpir") +
         " of their searches are answered wrongly, and " +
         share_text(decision, "tpir") +
         " of the others rightly. AUROC of pairs " +
         share_text(decision, "auroc") + ", AUPRC " +
         share_text(decision, "auprc") + ". In brackets: 95% intervals.";
}

}  // namespace

std::string threshold_section(const Report& report) {
  std::string html;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const EvalMetrics* eval = with_decision(report.runs[run]);
    if (eval == nullptr || eval->decision->curve.threshold.empty()) continue;
    const std::string number = std::to_string(run);
    const DecisionCurve& curve = eval->decision->curve;
    if (report.runs.size() > 1) html += heading(3, run_name(report, run));
    html +=
        "<div class=\"charts\">\n" +
        chart_figure("threshold-" + number, line_chart(rates_chart(curve))) +
        chart_figure("errors-" + number, line_chart(errors_chart(curve))) +
        "</div>\n" + note(sentence_of(*eval));
    for (const std::string& line : eval->decision->notes)
      html += note(line + ".");
  }
  return html;
}

}  // namespace kith
