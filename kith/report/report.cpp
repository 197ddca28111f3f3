#include "kith/report/report.h"

#include <array>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"
#include "kith/report/assets.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

struct Section {
  const char* id;
  const char* heading;
  const char* sentence;  ///< How to read it.
  std::string (*body)(const Report&);
  const char* former_id = "";  ///< What links to older pages name.
};

constexpr std::array<Section, 19> kSections = {{
    {"results", "Results",
     "What the last evaluation measured, each metric with its meaning.",
     results_section},
    {"differences", "What differs",
     "Settings that are not the same in all runs.", differences_section},
    {"curves", "Training",
     "How loss and metrics went; point at a curve for its values.",
     curves_section},
    {"examples", "What is found",
     "A test image on the left and what the network finds nearest to it, with "
     "the similarity. A check and a green frame mark the same class, a cross "
     "and a red frame another one.",
     examples_section, "gallery"},
    {"similarities", "How similar pairs are",
     "The less the two areas overlap, the better classes are told apart.",
     similarities_section},
    {"threshold", "Where to draw the line",
     "What is accepted as the same if it is at least so similar.",
     threshold_section},
    {"spectrum", "Directions in use",
     "A curve that falls steeply means that a few directions hold nearly all "
     "of the embedding; the grey line uses all alike.",
     spectrum_section},
    {"ranks", "How far to look",
     "At which rank queries find the first image of their class.",
     ranks_section},
    {"classes", "Recall by class",
     "Of the test images of a class, the share whose nearest image is of the "
     "same class.",
     classes_section},
    {"confused", "What is mixed up",
     "Classes whose images most often have a nearest image of one other "
     "class, with an example.",
     confused_section},
    {"lookalikes", "Look-alikes of different classes",
     "The most similar pairs of images of different classes. Wrong labels and "
     "the same picture in two classes show up here.",
     lookalikes_section},
    {"hubs", "Hubs",
     "Images that are among the nearest of many queries, whatever these show: "
     "more than there are queries of their class means wrong answers.",
     hubs_section},
    {"duplicates", "Near duplicates",
     "Test images whose pixels are nearly those of a training image: they make "
     "the test easier than it should be.",
     duplicates_section},
    {"corruptions", "With spoiled images",
     "The same test with images that are blurred, noisy or otherwise worse.",
     corruptions_section},
    {"compressed", "In less room",
     "The same test with a gallery of smaller vectors: what is found for the "
     "bytes that an item takes.",
     compressed_section},
    {"activations", "Where the network looks",
     "The warmer, the farther the image's embedding moves (1 - cosine) when it "
     "is blurred there: what the network goes by.",
     activations_section},
    {"scatter", "Embeddings in the plane",
     "Each point is a test image, its colour the class. By neighbours, images "
     "that are near each other stay together; by variance, it is the view of "
     "where the embeddings spread most. Point at one to see the image and its "
     "class.",
     scatter_section, "map"},
    {"cost", "Time and memory",
     "Where the time of training went, and the most memory it took.",
     cost_section},
    {"run", "Settings", "What each run was made with: enough to repeat it.",
     run_section},
}};

std::string missing_notes(const Report& report) {
  std::string html;
  for (size_t i = 0; i < report.runs.size(); ++i) {
    if (i >= report.insights.size() || report.insights[i].missing.empty()) {
      continue;
    }
    const std::string which = report.runs.size() > 1
                                  ? "<b>" + run_name(report, i) + "</b>"
                                  : "The run";
    html += "<p class=\"missing\">" + which + " is shown without its images. " +
            html_escape(report.insights[i].missing) + "</p>\n";
  }
  return html;
}

/// Which networks are looked at, unless they are the last ones.
std::string network_notes(const Report& report) {
  if (!report.other_networks) return "";
  std::string html;
  for (size_t i = 0; i < report.runs.size(); ++i) {
    if (insight_of(report, i) == nullptr) continue;
    const RunRecord& run = report.runs[i];
    html += "<p class=\"missing\">" +
            (report.runs.size() > 1 ? "<b>" + run_name(report, i) + "</b>: "
                                    : std::string()) +
            "what is found, seen and drawn is of the " +
            html_escape(insight_of(report, i)->network) +
            (run.best.empty()
                 ? ""
                 : "; the best evaluation is " + html_escape(run.best)) +
            ". Tables and curves are of the whole run.</p>\n";
  }
  return html;
}

std::string style(const Report& report) {
  return svg_rules() + std::string(kReportCss) + std::string(kNumbersCss) +
         picture_css(report.groups);
}

}  // namespace

std::string render_report(const Report& report) {
  HtmlPage page(report.title, report.lead, style(report));
  page.add_html(missing_notes(report) + network_notes(report));
  for (const Section& section : kSections) {
    const std::string body = section.body(report);
    if (body.empty()) continue;
    if (*section.former_id) {
      page.add_html("<div id=\"" + std::string(section.former_id) +
                    "\"></div>\n");
    }
    page.add_section(section.heading, note(section.sentence) + body,
                     section.id);
  }
  if (!report.made_by.empty()) page.set_footer("Made by " + report.made_by);
  page.set_script(std::string(kChartsScript) + std::string(kReportScript));
  return page.str();
}

}  // namespace kith
