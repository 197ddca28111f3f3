#include "kith/report/page_parts.h"

#include <cmath>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
std::string count_text(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string percent_text(double share) {
  return std::isfinite(share) ? format_fixed(100.0 * share, 1) + "%" : "–";
}

std::string caption(const std::string& name) {
  return "<div class=\"caption\" title=\"" + html_escape(name) + "\">" +
         html_name(name) + "</div>";
}

std::string run_name(const Report& report, size_t run) {
  const std::string name = html_escape(report.runs[run].name);
  if (report.runs.size() < 2) return name;
  return "<svg class=\"swatch kith-chart\" viewBox=\"0 0 16 10\" "
         "aria-hidden=\"true\">" +
         svg_line(1.5, 5, 14.5, 5, "l " + svg_stroke_class(run)) + "</svg>" +
         name;
}

std::string group_name(const Report& report, const ImageGroup& group) {
  std::string names;
  for (size_t i = 0; i < group.runs.size(); ++i) {
    if (i > 0) names += i + 1 == group.runs.size() ? " and " : ", ";
    names += run_name(report, group.runs[i]);
  }
  return names;
}

std::string note(const std::string& text) {
  if (text.empty()) return "";
  return "<p class=\"note\">" + html_escape(text) + "</p>\n";
}

std::string heading(int level, const std::string& html) {
  const std::string tag = "h" + std::to_string(level) + ">";
  return "<" + tag + html + "</" + tag + "\n";
}

HtmlTable table_of_runs(const Report& report, const std::string& first,
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

std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + html_escape(text) + "</td>";
}

std::string folded(const std::string& summary, const std::string& body) {
  return "<details><summary>" + html_escape(summary) + "</summary>\n" + body +
         "</details>\n";
}

std::string chart_figure(const std::string& id, const std::string& svg) {
  std::string bare = svg;
  const std::string& style = svg_style();
  const size_t at = bare.find(style);
  if (at != std::string::npos) bare.erase(at, style.size());
  return "<figure class=\"chart\" data-chart=\"" + html_escape(id) + "\">\n" +
         bare + "</figure>\n";
}

const RunInsight* insight_of(const Report& report, size_t run) {
  if (run >= report.insights.size()) return nullptr;
  const RunInsight& insight = report.insights[run];
  return insight.missing.empty() ? &insight : nullptr;
}

}  // namespace kith
