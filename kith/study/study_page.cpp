#include "kith/study/study_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/number_text.h"
#include "kith/core/path.h"
#include "kith/eval/metric.h"
#include "kith/report/assets.h"
#include "kith/report/page_parts.h"
#include "kith/run/run_folder.h"
#include "kith/study/claims.h"
#include "kith/study/figure.h"
#include "kith/study/processes.h"
#include "kith/study/search.h"
#include "kith/study/sweep.h"
#include "kith/study/tasks.h"
#include "kith/study/text_table.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBestRuns = 5;
constexpr size_t kMostRows = 400;       // of a table
constexpr size_t kMostUnfinished = 60;  // that are named

/// A path for a link: all but plain characters as %XX.
std::string url_path(const std::string& path) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string url;
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      url += c;
    } else {
      char text[4];
      std::snprintf(text, sizeof text, "%%%02X",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      url += text;
    }
  }
  return url;
}

/// Writes the page of one study.
class PageOfStudy {
 public:
  explicit PageOfStudy(const StudyPageOptions& options)
      : options_(options),
        study_(load_study(study_file(options.study))),
        results_(read_results(study_, options.study)),
        summary_(summarise(results_)),
        metric_(study_.metrics.front()) {}

  StudyPage make() const {
    StudyPage page;
    page.runs = std::ssize(study_runs(study_));
    page.finished = std::ssize(results_.runs);
    page.lead = lead(page);
    HtmlPage html(
        options_.title.empty() ? study_.title : options_.title, page.lead,
        svg_rules() + std::string(kReportCss) + std::string(kNumbersCss));
    const auto add = [&html](const char* heading, const std::string& sentence,
                             const std::string& body, const char* id) {
      if (!body.empty()) html.add_section(heading, note(sentence) + body, id);
    };
    add("Results", "Every combination with the mean over its seeds.", table(),
        "results");
    add("Claims", "What the study's file says, judged by the runs.", claims(),
        "claims");
    add("Values", "Combinations from best to worst.",
        study_values_html(results_, summary_), "values");
    add("Training",
        "How metrics and losses went; point at a curve for its "
        "values.",
        study_curves_html(results_, summary_), "curves");
    add("Figures", "What the study's file asks for.", figures(), "figures");
    add("What was searched",
        "Values that the search chose on held-out "
        "training classes.",
        searches(), "search");
    add("Best runs", "Single trainings; each can be looked at by itself.",
        best_runs(), "best");
    add("Not finished", "Runs without results, and why.", unfinished(),
        "unfinished");
    add("Settings", "The whole study: enough to repeat it.", settings(), "run");
    if (!options_.made_by.empty()) {
      html.set_footer("Made by " + options_.made_by);
    }
    html.set_script(std::string(kChartsScript) + std::string(kReportScript));
    page.html = html.str();
    return page;
  }

 private:
  std::string shown(const std::string& metric, double value) const {
    return metric_text(value, metric_is_share(study_.kind(metric)));
  }

  std::string lead(const StudyPage& page) const {
    std::string text = count_text(page.finished) + " of " +
                       count_text(page.runs) + " runs are finished.";
    if (page.finished == page.runs) {
      text = page.runs == 1
                 ? "The run is finished."
                 : "All " + count_text(page.runs) + " runs are finished.";
    }
    const auto rows = best_rows(study_, summary_);
    if (rows.empty()) return text;
    return text + " Best by " + metric_ + ": " +
           row_name(study_, rows.front()->labels) + ", " +
           spread_text(metric_, rows.front()->cells.front().spread) + ".";
  }

  /// "82.31 ± 0.45%", without interval "82.31%".
  std::string spread_text(const std::string& metric,
                          const Spread& spread) const {
    return plus_minus_text(spread.mean, spread.half_width,
                           metric_is_share(study_.kind(metric)), " ± ",
                           MetricStyle());
  }

  /// The mean of a metric before training; NaN if it is not known.
  double before(const Labels& labels, const std::string& metric) const {
    std::vector<double> values;
    for (const RunResult& run : results_.runs) {
      const bool knows = run.labels == labels && run.curve.size() > 1 &&
                         run.curve.front().step == 0;
      if (!knows) continue;
      const auto found = run.curve.front().metrics.find(metric);
      if (found != run.curve.front().metrics.end()) {
        values.push_back(found->second);
      }
    }
    return spread_of(values).mean;
  }

  /// What stands below a mean, a line each.
  std::string cell_note(const Labels& labels, const std::string& metric,
                        const StudyCell& cell) const {
    const bool is_share = metric_is_share(study_.kind(metric));
    std::string text;
    const auto add = [&text](const std::string& line) {
      text += (text.empty() ? "" : "\n") + line;
    };
    if (cell.spread.count == 2) {
      add(shown(metric, cell.spread.low) + " and " +
          shown(metric, cell.spread.high));
    }
    const double untrained = before(labels, metric);
    if (std::isfinite(untrained) && std::isfinite(cell.spread.mean)) {
      add("before " + shown(metric, untrained) + ", " +
          difference_text(untrained, cell.spread.mean, is_share));
    }
    if (cell.published) {
      add("published " + format_number("%g", *cell.published) +
          (is_share ? "%" : ""));
    }
    return text;
  }

  std::string table() const {
    HtmlTable table;
    table.label = "Results";
    for (const StudyAxis& axis : study_.axes) {
      table.columns.push_back({axis.name, false});
    }
    if (study_.axes.empty()) table.columns.push_back({"Study", false});
    table.columns.push_back({"Runs", true});
    for (const std::string& metric : study_.metrics) {
      table.columns.push_back({metric, true});
    }
    for (const StudyRow& row : summary_.rows) {
      if (table.rows.size() == kMostRows) break;
      std::vector<HtmlCell> cells;
      for (const std::string& label : row.labels) cells.push_back({label, ""});
      if (cells.empty()) cells.push_back({study_.title, ""});
      cells.push_back({count_text(row.runs), ""});
      for (size_t m = 0; m < study_.metrics.size(); ++m) {
        const StudyCell& cell = row.cells[m];
        cells.push_back({spread_text(study_.metrics[m], cell.spread),
                         cell_note(row.labels, study_.metrics[m], cell),
                         /*code=*/false, cell.best});
      }
      table.rows.push_back(std::move(cells));
    }
    std::string notes = note(
        "Mean ± half of the 95% interval (Student's t) over three runs or "
        "more; the best of a column is bold if every combination has them.");
    if (!summary_.what.empty()) notes += note(summary_.what);
    if (!study_.published_source.empty()) {
      notes += note("Published numbers: " + study_.published_source + ".");
    }
    if (summary_.rows.size() > kMostRows) {
      notes += note("The first " + std::to_string(kMostRows) + " of " +
                    std::to_string(summary_.rows.size()) +
                    " combinations; table.csv in the study's folder has all.");
    }
    return "<div class=\"metrics study\">\n" + html_table(table) +
           "</div>\n<div class=\"rules\">\n" + notes + "</div>\n";
  }

  std::string figures() const {
    std::string html;
    for (const NamedFigure& figure : make_figures(study_)) {
      html +=
          chart_figure("figure-" + figure.file, figure.figure->draw(results_));
    }
    return html.empty() ? ""
                        : "<div class=\"charts wide\">\n" + html + "</div>\n";
  }

  static std::string table_of_words(const std::string& label,
                                    const TextTable& words) {
    if (words.rows.empty()) return "";
    HtmlTable table;
    table.label = label;
    for (const std::string& word : words.head) {
      table.columns.push_back({word, false});
    }
    for (const std::vector<std::string>& row : words.rows) {
      std::vector<HtmlCell> cells;
      for (const std::string& word : row) cells.push_back({word, ""});
      table.rows.push_back(std::move(cells));
    }
    return html_table(table);
  }

  std::string claims() const {
    if (study_.claims.empty()) return "";
    return table_of_words("Claims", claims_table(results_)) +
           note(claims_legend());
  }

  std::string searches() const {
    if (!study_.search) return "";
    const std::vector<SearchResult> found =
        search_results(study_, study_runs(study_), options_.study);
    std::string html =
        table_of_words("What was chosen", search_choices(study_, found));
    const auto in_vain = std::count_if(
        found.begin(), found.end(),
        [](const SearchResult& one) { return one.ended && one.best < 0; });
    if (in_vain > 0) {
      html += note("Searches without a trial that has a value: " +
                   count_text(in_vain) + "; change study.search.space.");
    }
    return html.empty() ? note("No search has ended yet.") : html;
  }

  /// From where the page lies to a file of a run.
  std::string link(const std::string& file) const {
    const fs::path page = options_.out.empty()
                              ? full_path(options_.study) / "report.html"
                              : full_path(options_.out);
    return url_path(
        full_path(file)
            .lexically_normal()
            .lexically_relative(page.lexically_normal().parent_path())
            .generic_string());
  }

  std::string best_runs() const {
    std::vector<const RunResult*> runs;
    for (const RunResult& run : results_.runs) {
      const auto found = run.metrics.find(metric_);
      if (found != run.metrics.end()) runs.push_back(&run);
    }
    if (runs.empty()) return "";
    const Better better = better_of(metric_);
    std::stable_sort(
        runs.begin(), runs.end(), [&](const RunResult* a, const RunResult* b) {
          const double x = a->metrics.at(metric_);
          const double y = b->metrics.at(metric_);
          return is_better(x, y, better) && !is_better(y, x, better);
        });
    runs.resize(std::min(runs.size(), kBestRuns));
    // Of folds each is a run that `kith report` knows, not all together.
    const char* networks = study_.folds > 0 ? "/fold-*" : "";
    std::string html = "<ol class=\"runs\">\n";
    for (const RunResult* run : runs) {
      const std::string name =
          row_name(study_, run->labels) + ", seed " + std::to_string(run->seed);
      const std::string page = run->folder + "/report.html";
      const bool has_page = path_exists(page);
      html += "<li><a href=\"" +
              html_escape(link(has_page ? page : run->folder + "/")) + "\">" +
              html_escape(name) + "</a>: " +
              html_escape(metric_ + " " +
                          shown(metric_, run->metrics.at(metric_))) +
              (has_page ? ""
                        : "<br><code>kith report " +
                              html_escape(run->folder + networks) +
                              "</code> shows what it finds") +
              "</li>\n";
    }
    return html + "</ol>\n" + note(choice_note(*runs.front()));
  }

  /// Runs that are compared by the test images are chosen by them.
  std::string choice_note(const RunResult& run) const {
    if (study_.search) {
      return "Values were chosen on held-out training classes, and the runs "
             "tested afterwards.";
    }
    if (run.split != "test") return "";
    return "They stand in the order of the test split: whoever picks one by it "
           "has chosen on test, and its number says too much. study.search "
           "chooses on held-out training classes.";
  }

  /// The training that a run waits for: of folds, the first that was begun and
  /// is not finished.
  RunFolder waits_for(const RunFolder& run) const {
    for (int64_t number = 1; number <= study_.folds; ++number) {
      const RunFolder fold = run.fold(number);
      if (path_exists(fold.path()) && !fold.is_finished()) return fold;
    }
    return run;
  }

  std::string unfinished() const {
    const std::vector<StudyRun> runs = study_runs(study_);
    HtmlTable table;
    table.label = "Runs that are not finished";
    table.columns = {{"Run", false}, {"State", false}, {"Last words", false}};
    size_t count = 0;
    for (const StudyRun& run : runs) {
      const RunFolder whole(options_.study + "/" + run.folder);
      if (whole.is_finished()) continue;
      const RunFolder folder = waits_for(whole);
      if (++count > kMostUnfinished) continue;
      const bool diverged = folder.has_diverged();
      const bool begun = path_exists(folder.path());
      table.rows.push_back(
          {{row_name(study_, run.labels) + ", seed " + std::to_string(run.seed),
            run.folder + folder.path().substr(whole.path().size())},
           {diverged ? "diverged"
            : begun  ? "begun, not ended"
                     : "not begun",
            ""},
           {begun ? last_words(diverged ? folder.diverged()
                                        : folder.path() + "/train.log")
                  : "",
            ""}});
    }
    if (count == 0) return "";
    return html_table(table) +
           (count > kMostUnfinished
                ? note("And " + std::to_string(count - kMostUnfinished) +
                       " more.")
                : "") +
           note("The same sweep goes on with them.");
  }

  /// The last line of a log that says something.
  static std::string last_words(const std::string& path) {
    constexpr size_t kMost = 300;
    std::string last;
    for (const std::string& line : last_lines(path)) {
      if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    }
    return last.size() > kMost ? last.substr(0, kMost) + " ..." : last;
  }

  std::string settings() const {
    const std::string name = "The study's configuration";
    return folded(name, "<pre tabindex=\"0\" role=\"group\" aria-label=\"" +
                            html_escape(name) + "\"><code>" +
                            html_escape(to_yaml(study_.source)) +
                            "</code></pre>\n");
  }

  const StudyPageOptions& options_;
  Study study_;
  StudyResults results_;
  StudySummary summary_;
  std::string metric_;  ///< The first, by which combinations are ordered.
};

}  // namespace

bool is_study_folder(const std::string& folder) {
  return path_exists(study_file(folder)) ||
         (path_exists(folder + "/results.json") &&
          !path_exists(RunFolder(folder).config()));
}

StudyPage make_study_page(const StudyPageOptions& options) {
  if (!path_exists(study_file(options.study))) {
    throw DataError(options.study +
                    (is_study_folder(options.study)
                         ? ": no study.yaml in this study; sweep it again with "
                           "kith sweep, which keeps finished runs"
                         : ": not the folder of a study: expected study.yaml "
                           "there, as kith sweep writes it"));
  }
  return PageOfStudy(options).make();
}

size_t write_study_page(const StudyPage& page, const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) make_folders(folder);
  write_file_atomically(path, page.html);
  return page.html.size();
}

}  // namespace kith
