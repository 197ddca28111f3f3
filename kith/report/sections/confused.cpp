#include "kith/chart/html.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

std::string table(const Report& report, size_t group, size_t run) {
  std::string html =
      html_open_scroll("Classes that are mixed up by " +
                       report.runs[run].name) +
      "<table class=\"confused\">\n<thead><tr><th scope=\"col\">Class of the "
      "query</th><th scope=\"col\">Class that is found first</th><th "
      "scope=\"col\" class=\"number\">Queries</th><th scope=\"col\" "
      "class=\"number\">Of its queries</th><th scope=\"col\" "
      "class=\"number\">The other way round</th></tr></thead>\n<tbody>\n";
  for (const ConfusedClasses& pair : insight_of(report, run)->confused) {
    html += "<tr>" +
            classed_cell(report.groups, group, pair.from_picture, pair.from,
                         /*head=*/true) +
            classed_cell(report.groups, group, pair.to_picture, pair.to) +
            number_cell(count_text(pair.count)) +
            number_cell(percent_text(pair.share)) +
            number_cell(count_text(pair.reverse)) + "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string confused_section(const Report& report) {
  std::string html;
  for (size_t group = 0; group < report.groups.size(); ++group) {
    for (const size_t run : report.groups[group].runs) {
      const RunInsight* seen = insight_of(report, run);
      if (!seen || seen->confused.empty()) continue;
      if (report.runs.size() > 1) html += heading(3, run_name(report, run));
      html += table(report, group, run);
    }
  }
  return html;
}

}  // namespace kith
