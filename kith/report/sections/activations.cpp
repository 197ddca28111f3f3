#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

std::string cell(const std::string& uri, const std::string& alt,
                 const std::string& below) {
  return "<div>" + data_picture(uri, alt) + "<div class=\"detail\">" +
         html_escape(below) + "</div></div>\n";
}

// The picture, three channels, and their mean.
std::string row(const ActivationRow& row) {
  std::string html = "<figure class=\"activation\">\n" +
                     cell(row.picture, "Image of class " + row.label, "image");
  for (size_t i = 0; i < row.uris.size(); ++i) {
    std::string name = "mean", alt = "Mean of the three channels";
    if (i < row.channels.size()) {
      name = "channel " + std::to_string(row.channels[i]);
      alt = "Heat of " + name;
      if (i < row.activations.size()) {
        alt += ", mean activation " + short_number(row.activations[i]);
      }
    }
    html +=
        cell(row.uris[i], alt + " over the image of class " + row.label, name);
  }
  return html + "<figcaption>" + html_name(row.label) +
         "</figcaption>\n</figure>\n";
}

}  // namespace

std::string activations_section(const Report& report) {
  std::string html;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const RunInsight* seen = insight_of(report, run);
    if (!seen || seen->activations.empty()) continue;
    html += "<div class=\"block\">\n";
    if (report.runs.size() > 1) html += heading(3, run_name(report, run));
    html += "<div class=\"activations\">\n";
    for (const ActivationRow& one : seen->activations) html += row(one);
    html += "</div>\n</div>\n";
  }
  return html.empty() ? "" : "<div class=\"blocks\">\n" + html + "</div>\n";
}

}  // namespace kith
