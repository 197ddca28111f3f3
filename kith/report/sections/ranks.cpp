// How far down its list a query has to look.

#include "kith/chart/share_bars.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {

std::string ranks_section(const Report& report) {
  ShareBars chart;
  chart.title = "Rank of the first right image";
  chart.unit = "queries";
  chart.parts = {"1", "2 to 4", "5 to 16", "17 to 100", "beyond"};
  std::string apart;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const RunInsight* seen = insight_of(report, run);
    if (!seen || seen->first_right.queries == 0) continue;
    ShareRow row;
    if (report.runs.size() > 1) row.name = report.runs[run].name;
    for (const int64_t count : seen->first_right.counts) {
      row.values.push_back(static_cast<double>(count));
    }
    chart.rows.push_back(std::move(row));
    const double share = static_cast<double>(seen->first_right.apart) /
                         static_cast<double>(seen->first_right.queries);
    apart += note(
        (report.runs.size() > 1 ? report.runs[run].name + ": for " : "For ") +
        percent_text(share) + " of " + count_text(seen->first_right.queries) +
        " queries all right images come before any wrong one.");
  }
  if (chart.rows.empty()) return "";
  return chart_figure("ranks", share_bars(chart)) + "<div class=\"rules\">\n" +
         apart + "</div>\n";
}

}  // namespace kith
