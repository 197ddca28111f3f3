#include "kith/core/number_text.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {

std::string differences_section(const Report& report) {
  if (report.runs.size() < 2) return "";
  HtmlTable table =
      table_of_runs(report, "Key", "Settings that differ", /*numbers=*/false);
  for (const ConfigDifference& one : config_differences(report.runs)) {
    std::vector<HtmlCell> row = {{one.key, "", /*code=*/true}};
    for (const std::string& value : one.values) {
      const bool absent = value.empty();
      row.push_back({absent ? kDash : value, "", /*code=*/!absent});
    }
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) {
    return note("The runs have the same configuration.");
  }
  return "<div class=\"settings\">\n" + html_table(table) + "</div>\n" +
         note(
             "All other settings are the same, as far as the runs use the same "
             "parts: options of a loss, network or other part that only one "
             "of them has are below, in its configuration. A dash: the run "
             "has no such setting.");
}

}  // namespace kith
