#include "kith/report/words.h"

#include <cmath>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {

std::string count_text(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string percent_text(double share) {
  return std::isfinite(share) ? format_fixed(100.0 * share, 1) + "%" : "–";
}

std::string caption(const std::string& name) {
  const std::string text = html_escape(name);
  std::string breakable;
  for (const char c : text) {
    breakable += c;
    if (c == '/' || c == '_' || c == '-') breakable += "<wbr>";
  }
  return "<div class=\"caption\" title=\"" + text + "\">" + breakable +
         "</div>";
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

const RunInsight* insight_of(const Report& report, size_t run) {
  if (run >= report.insights.size()) return nullptr;
  const RunInsight& insight = report.insights[run];
  return insight.missing.empty() ? &insight : nullptr;
}

}  // namespace kith
