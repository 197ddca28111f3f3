#pragma once

#include <string>

#include "kith/chart/html.h"
#include "kith/report/report.h"

namespace kith {

/// A table with a first column and one for each run, under its name; without
/// rows. With one run there is no head, for nothing has to be told apart.
inline HtmlTable table_of_runs(const Report& report, const std::string& first,
                               const std::string& label, bool numbers) {
  HtmlTable table;
  table.label = label;
  const bool several = report.runs.size() > 1;
  table.columns.push_back({several ? first : "", false});
  for (const RunRecord& run : report.runs) {
    table.columns.push_back({several ? run.name : "", numbers});
  }
  return table;
}

/// What is folded away until it is wanted. `body` is HTML.
inline std::string folded(const std::string& summary, const std::string& body) {
  return "<details><summary>" + html_escape(summary) + "</summary>\n" + body +
         "</details>\n";
}

}  // namespace kith
