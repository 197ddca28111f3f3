// Images that are too near: to others of another class, to too many queries, to
// training images.

#include <cmath>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

std::string open_faults(const std::string& label, const std::string& head) {
  return html_open_scroll(label) + "<table class=\"confused\">\n<thead><tr>" +
         head + "</tr></thead>\n<tbody>\n";
}

constexpr const char* kEndFaults = "</tbody>\n</table></div>\n";

std::string head_cell(const std::string& text, bool number = false) {
  return std::string("<th scope=\"col\"") +
         (number ? " class=\"number\"" : "") + ">" + html_escape(text) +
         "</th>";
}

std::string album_cell(const Report& report, size_t group, size_t picture,
                       bool head = false) {
  return classed_cell(report.groups, group, picture,
                      picture_label(report.groups[group], picture), head);
}

/// Calls body(group, run, insight) for every run with insight, below its name
/// if there are several; runs without a body have no name.
template <class Body>
std::string for_each_seen(const Report& report, const Body& body) {
  std::string html;
  for (size_t group = 0; group < report.groups.size(); ++group) {
    for (const size_t run : report.groups[group].runs) {
      const RunInsight* seen = insight_of(report, run);
      if (!seen) continue;
      const std::string one = body(group, run, *seen);
      if (one.empty()) continue;
      if (report.runs.size() > 1) html += heading(3, run_name(report, run));
      html += one;
    }
  }
  return html;
}

std::string hub_facts(const Hubs& hubs) {
  const double share =
      static_cast<double>(hubs.never_found) / static_cast<double>(hubs.items);
  return "An image is among the " + std::to_string(hubs.k) + " nearest of " +
         format_general(hubs.expected, 3) + " queries on average, of " +
         count_text(hubs.maximum) + " at most; " + percent_text(share) +
         " of the images are found by no query. Skewness of these counts: " +
         (std::isfinite(hubs.skewness) ? format_fixed(hubs.skewness, 2)
                                       : std::string(kDash)) +
         " (0: no hubs; above about 2: a few images crowd the lists).";
}

/// The near duplicates that are listed, with their pictures where there are
/// such.
std::string duplicate_table(const Report& report, size_t run) {
  constexpr size_t kShown = 8;
  const StoredDuplicates& found = *report.runs[run].duplicates;
  const RunInsight* seen = insight_of(report, run);
  size_t group = 0;
  for (size_t g = 0; g < report.groups.size(); ++g) {
    for (const size_t member : report.groups[g].runs) {
      if (member == run) group = g;
    }
  }
  std::string html = open_faults(
      "Near duplicates", head_cell("Test image") + head_cell("Training image") +
                             head_cell("Bits that differ", /*number=*/true));
  for (size_t i = 0; i < std::min(found.pairs.size(), kShown); ++i) {
    const StoredDuplicates::Pair& pair = found.pairs[i];
    const bool shown = seen && i < seen->duplicates.size();
    const auto cell = [&](size_t PicturePair::*picture,
                          const std::string& label, const std::string& path,
                          bool head) {
      if (shown) {
        return classed_cell(report.groups, group, seen->duplicates[i].*picture,
                            label, head);
      }
      return (head ? "<th scope=\"row\">" : "<td>") + html_name(label) +
             "<small>" + html_name(path) + "</small>" +
             (head ? "</th>" : "</td>");
    };
    html += "<tr>" +
            cell(&PicturePair::second, pair.test_class, pair.test, true) +
            cell(&PicturePair::first, pair.train_class, pair.train, false) +
            number_cell(count_text(pair.distance)) + "</tr>\n";
  }
  return html + kEndFaults;
}

}  // namespace

std::string lookalikes_section(const Report& report) {
  return for_each_seen(
      report,
      [&](size_t group, size_t run, const RunInsight& seen) -> std::string {
        if (seen.lookalikes.empty()) return "";
        std::string html = open_faults(
            "Look-alikes of " + report.runs[run].name,
            head_cell("Image") + head_cell("Its nearest of another class") +
                head_cell("Similarity", /*number=*/true));
        for (const PicturePair& pair : seen.lookalikes) {
          html += "<tr>" + album_cell(report, group, pair.first, true) +
                  album_cell(report, group, pair.second) +
                  number_cell(format_fixed(pair.similarity, 3)) + "</tr>\n";
        }
        return html + kEndFaults;
      });
}

std::string hubs_section(const Report& report) {
  return for_each_seen(
      report,
      [&](size_t group, size_t run, const RunInsight& seen) -> std::string {
        const Hubs& hubs = seen.hubs;
        if (hubs.largest.empty()) return "";
        std::string html =
            note(hub_facts(hubs)) +
            open_faults("Hubs of " + report.runs[run].name,
                        head_cell("Image") +
                            head_cell("Queries near it", true) +
                            head_cell("Queries of its class", true));
        for (const Hubs::Item& item : hubs.largest) {
          html += "<tr>" + album_cell(report, group, item.picture, true) +
                  number_cell(count_text(item.count)) +
                  number_cell(item.of_class > 0 ? count_text(item.of_class)
                                                : std::string(kDash)) +
                  "</tr>\n";
        }
        return html + kEndFaults;
      });
}

std::string duplicates_section(const Report& report) {
  std::string html;
  std::vector<std::string> missing;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const std::optional<StoredDuplicates>& found = report.runs[run].duplicates;
    if (!found) {
      missing.push_back(report.runs[run].name);
      continue;
    }
    if (report.runs.size() > 1) html += heading(3, run_name(report, run));
    html +=
        note(found->count == 0 ? "There are none."
                               : count_text(found->test_images) +
                                     " test images are near duplicates of " +
                                     count_text(found->train_images) +
                                     " training images, in " +
                                     count_text(found->count) + " pairs.");
    if (!found->pairs.empty()) html += duplicate_table(report, run);
    html += note(found->rule.empty() ? "" : "Rule: " + found->rule + ".");
  }
  if (missing.empty() || report.duplicates_hint.empty()) return html;
  return html + note((html.empty() ? "They were not looked for"
                                   : "Not looked for in " + join(missing)) +
                     ": " + report.duplicates_hint + ".");
}

}  // namespace kith
