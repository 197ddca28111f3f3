#include <set>

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

// The picture, what it hangs on, and channels.
std::string row(const ActivationRow& row) {
  std::string html =
      std::string("<figure class=\"activation") +
      (row.uris.empty() ? " pair" : "") + "\">\n" +
      cell(row.picture, "Image of class " + row.label, "image") +
      cell(row.cover,
           "Heat where blurring the image of class " + row.label +
               " moves its embedding, at most by " + short_number(row.moved),
           "moves up to " + format_general(row.moved, 2));
  for (size_t i = 0; i < row.uris.size() && i < row.channels.size(); ++i) {
    const std::string name = "channel " + std::to_string(row.channels[i]);
    std::string alt = "Heat of " + name;
    if (i < row.activations.size()) {
      alt += ", mean activation " + short_number(row.activations[i]) +
             " above the usual";
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
  bool channels = false;
  std::set<std::string> notes;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const RunInsight* seen = insight_of(report, run);
    if (!seen || seen->activations.empty()) continue;
    html += "<div class=\"block\">\n";
    if (report.runs.size() > 1) html += heading(3, run_name(report, run));
    html += "<div class=\"activations\">\n";
    for (const ActivationRow& one : seen->activations) {
      html += row(one);
      channels = channels || !one.uris.empty();
    }
    html += "</div>\n</div>\n";
    notes.insert(seen->activations_note);
  }
  if (html.empty()) return "";
  html = "<div class=\"blocks\">\n" + html + "</div>\n";
  if (channels) {
    html += note(
        "Channels: of the last feature map, those that the image excites most "
        "above their mean over other images, and where they are above it.");
  }
  for (const std::string& text : notes) html += note(text);
  return html;
}

}  // namespace kith
