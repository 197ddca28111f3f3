#include <algorithm>
#include <cmath>
#include <string_view>

#include "kith/chart/html.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

constexpr std::string_view kSymbols =
    "<svg class=\"symbols\" aria-hidden=\"true\">"
    "<symbol id=\"mark-right\" viewBox=\"0 0 16 16\">"
    "<path d=\"M4 8.4l2.7 2.8 5.3-6.2\" fill=\"none\" stroke=\"currentColor\" "
    "stroke-width=\"2.2\" stroke-linecap=\"round\" "
    "stroke-linejoin=\"round\"/></symbol>"
    "<symbol id=\"mark-wrong\" viewBox=\"0 0 16 16\">"
    "<path d=\"M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4\" fill=\"none\" "
    "stroke=\"currentColor\" stroke-width=\"2.2\" "
    "stroke-linecap=\"round\"/></symbol></svg>\n";

/// Writes the examples of one group.
class GroupExamples {
 public:
  GroupExamples(const Report& report, size_t number)
      : report_(report), number_(number), group_(report.groups[number]) {}

  std::string html(int level) const {
    std::string html = "<div class=\"tabs\">\n";
    for (size_t i = 0; i < group_.examples.size(); ++i) {
      const ExampleSet& set = group_.examples[i];
      html += "<div class=\"panel\" id=\"examples-" + std::to_string(number_) +
              "-" + std::to_string(i) + "\">\n" +
              heading(level, html_escape(set.title)) + note(set.note);
      for (const ExampleQuery& query : set.queries) html += row(query);
      html += "</div>\n";
    }
    return html + "</div>\n";
  }

 private:
  std::string picture(size_t place, const std::string& alt) const {
    return "<div class=\"frame\">" +
           album_picture(report_.groups, number_, place, alt);
  }

  std::string row(const ExampleQuery& query) const {
    const std::string label = picture_label(group_, query.picture);
    const bool one = group_.runs.size() == 1;
    std::string html = "<div class=\"query\">\n<figure>" +
                       picture(query.picture, "Query: " + label) + "</div>" +
                       caption(label);
    if (one && !query.results.empty()) {
      html += "<div class=\"detail\">" + summary(query.results[0]) + "</div>";
    }
    html += "</figure>\n<div class=\"results\">\n";
    for (size_t i = 0; i < query.results.size(); ++i) {
      if (!one && i < group_.runs.size()) {
        html += "<p class=\"who\"><b>" + run_name(report_, group_.runs[i]) +
                "</b> <span class=\"detail\">" + summary(query.results[i]) +
                "</span></p>\n";
      }
      html += found(query.results[i]);
    }
    return html + "</div>\n</div>\n";
  }

  static std::string summary(const QueryResult& result) {
    const auto right =
        std::count_if(result.found.begin(), result.found.end(),
                      [](const FoundItem& item) { return item.right; });
    std::string text =
        count_text(right) + " of " + std::to_string(result.found.size()) +
        " right, average precision " + percent_text(result.average_precision);
    if (result.first_right > 1) {
      text += ", first right at rank " + count_text(result.first_right);
    }
    return text;
  }

  std::string found(const QueryResult& result) const {
    std::string html = "<ol>\n";
    for (size_t i = 0; i < result.found.size(); ++i) {
      html += item(result.found[i], i + 1);
    }
    return html + "</ol>\n";
  }

  std::string item(const FoundItem& item, size_t rank) const {
    const std::string kind = item.right ? "right" : "wrong";
    const std::string label = picture_label(group_, item.picture);
    const std::string similarity =
        std::isfinite(item.similarity) ? format_fixed(item.similarity, 3) : "–";
    return "<li class=\"" + kind + "\">" +
           picture(item.picture, "Found " + std::to_string(rank) + ": " +
                                     label + ", " + kind + ", similarity " +
                                     similarity) +
           "<svg class=\"mark\" aria-hidden=\"true\"><use href=\"#mark-" +
           kind + "\"/></svg></div><div class=\"detail\">" + similarity +
           "</div>" + caption(label) + "</li>\n";
  }

  const Report& report_;
  size_t number_;
  const ImageGroup& group_;
};

}  // namespace

std::string examples_section(const Report& report) {
  std::string html;
  const bool several = report.groups.size() > 1;
  for (size_t i = 0; i < report.groups.size(); ++i) {
    const ImageGroup& group = report.groups[i];
    if (group.examples.empty()) continue;
    if (several) html += heading(3, group_name(report, group));
    html += GroupExamples(report, i).html(several ? 4 : 3);
  }
  return html.empty() ? "" : std::string(kSymbols) + html;
}

}  // namespace kith
