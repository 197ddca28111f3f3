#include "kith/report/page_parts.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
namespace {

// WCAG's relative luminance: contrast 4.6 with white, 4.1 with the dark page.
constexpr double kLuminance = 0.18;
constexpr double kSaturation = 0.75;
constexpr double kGoldenTurn = 0.38196601125010515;  // of a circle

using Rgb = std::array<double, 3>;

Rgb from_hsl(double hue, double lightness) {
  const double chroma = kSaturation * (1.0 - std::abs(2.0 * lightness - 1.0));
  Rgb rgb{};
  for (size_t i = 0; i < 3; ++i) {
    // Each channel is a ramp around the circle, 120 degrees from the others.
    const double shift = i == 0 ? 0.0 : i == 1 ? 2.0 / 3.0 : 1.0 / 3.0;
    double turn = hue + shift;
    turn -= std::floor(turn);
    const double ramp = std::abs(turn * 6.0 - 3.0) - 1.0;
    const double level = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
    rgb[i] = lightness + chroma * (level - 0.5);
  }
  return rgb;
}

double luminance(const Rgb& rgb) {
  constexpr Rgb kWeights = {0.2126, 0.7152, 0.0722};
  double sum = 0.0;
  for (size_t i = 0; i < 3; ++i) {
    const double linear = rgb[i] <= 0.04045
                              ? rgb[i] / 12.92
                              : std::pow((rgb[i] + 0.055) / 1.055, 2.4);
    sum += kWeights[i] * linear;
  }
  return sum;
}

}  // namespace

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

std::string class_colour(int64_t number) {
  const double turns = kGoldenTurn * static_cast<double>(number);
  const double hue = turns - std::floor(turns);
  double low = 0.0, high = 1.0;  // luminance rises with lightness
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (luminance(from_hsl(hue, middle)) < kLuminance ? low : high) = middle;
  }
  const Rgb rgb = from_hsl(hue, low);
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x",
                static_cast<unsigned>(std::lround(255.0 * rgb[0])) & 255u,
                static_cast<unsigned>(std::lround(255.0 * rgb[1])) & 255u,
                static_cast<unsigned>(std::lround(255.0 * rgb[2])) & 255u);
  return text.data();
}

const RunInsight* insight_of(const Report& report, size_t run) {
  if (run >= report.insights.size()) return nullptr;
  const RunInsight& insight = report.insights[run];
  return insight.missing.empty() ? &insight : nullptr;
}

}  // namespace kith
