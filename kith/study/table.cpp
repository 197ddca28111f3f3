#include "kith/study/table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"
#include "kith/core/number_text.h"
#include "kith/eval/metric.h"
#include "kith/study/claims.h"
#include "kith/study/summary.h"
#include "kith/study/text_table.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// "82.31 ± 0.45"; of two runs "82.31 (82.00, 82.62)", of one the value. The
/// sign and the mark of the best are the format's.
/// With an interval over queries "82.31 [81.50, 83.12]".
std::string cell_text(const std::string& metric, const StudyCell& cell,
                      const std::string& plus_minus, const std::string& begin,
                      const std::string& end) {
  if (cell.spread.count == 2) {
    return format_metric(metric, cell.spread.mean) + " (" +
           format_metric(metric, cell.spread.low) + ", " +
           format_metric(metric, cell.spread.high) + ")";
  }
  if (cell.interval) {
    return format_metric(metric, cell.spread.mean) + " [" +
           format_metric(metric, cell.interval->low) + ", " +
           format_metric(metric, cell.interval->high) + "]";
  }
  const std::string text =
      plus_minus_text(cell.spread.mean, cell.spread.half_width,
                      metric_is_share(metric), plus_minus);
  return cell.best ? begin + text + end : text;
}

struct TableStyle {
  std::string plus_minus;
  std::string begin_best;
  std::string end_best;
};

TextTable text_table(const Study& study, const StudySummary& summary,
                     const TableStyle& style) {
  TextTable table;
  for (const StudyAxis& axis : study.axes) table.head.push_back(axis.name);
  table.head.emplace_back("runs");
  for (size_t m = 0; m < study.metrics.size(); ++m) {
    table.head.push_back(study.metrics[m]);
    if (summary.has_published[m]) table.head.emplace_back("published");
  }
  for (const StudyRow& row : summary.rows) {
    std::vector<std::string> words = row.labels;
    words.push_back(std::to_string(row.runs));
    for (size_t m = 0; m < study.metrics.size(); ++m) {
      const StudyCell& cell = row.cells[m];
      words.push_back(cell_text(study.kind(study.metrics[m]), cell,
                                style.plus_minus, style.begin_best,
                                style.end_best));
      if (!summary.has_published[m]) continue;
      words.push_back(cell.published ? format_number("%g", *cell.published)
                                     : "-");
    }
    table.rows.push_back(std::move(words));
  }
  return table;
}

/// What the numbers are, below the table.
std::string legend(const Study& study, const StudySummary& summary,
                   const std::string& plus_minus) {
  int64_t most = 0;
  bool has_two = false;
  bool has_queries = false;
  for (const StudyRow& row : summary.rows) {
    most = std::max(most, row.runs);
    has_two |= row.runs == 2;
    for (const StudyCell& cell : row.cells) {
      has_queries |= cell.interval.has_value();
    }
  }
  std::string text =
      most >= kLeastRunsOfInterval
          ? "Mean" + plus_minus +
                "half of the 95% interval (Student's t) over runs; "
          : "";
  if (has_two) {
    text +=
        "of two runs the mean and both values, which are too few for an "
        "interval; ";
  }
  if (most == 1) text += "of one run each: another seed may change the order; ";
  if (has_queries) {
    text +=
        "in brackets the 95% interval over the queries of one run, which says "
        "nothing of other seeds; ";
  }
  text += "shares in percent.";
  text[0] =
      static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!summary.what.empty()) text += " " + summary.what;
  if (!study.published_source.empty()) {
    text += " Published: " + study.published_source + ".";
  }
  return text;
}

Json labels_json(const Study& study, const Labels& labels) {
  Json json = Json::object();
  for (size_t a = 0; a < labels.size(); ++a) {
    json[study.axes[a].name] = labels[a];
  }
  return json;
}

}  // namespace

std::string study_markdown(const StudyResults& results) {
  const Study& study = *results.study;
  const StudySummary summary = summarise(results);
  return "# " + study.title + "\n\n" +
         markdown_table(text_table(study, summary, {" ± ", "**", "**"})) +
         "\n" + legend(study, summary, " ± ") + "\n";
}

std::string study_latex(const StudyResults& results) {
  const Study& study = *results.study;
  const StudySummary summary = summarise(results);
  // Cells are LaTeX already; labels and names are not.
  TextTable table = text_table(study, summary, {" $\\pm$ ", "\\textbf{", "}"});
  const size_t axes = study.axes.size();
  for (std::string& word : table.head) word = latex_text(word);
  for (auto& row : table.rows) {
    for (size_t a = 0; a < axes; ++a) row[a] = latex_text(row[a]);
  }
  return "% " + replaced(study.title, {{'\n', " "}}) + "\n" +
         latex_table(table, axes) + "% " +
         replaced(legend(study, summary, " +- "), {{'\n', " "}}) + "\n";
}

std::string study_csv(const StudyResults& results) {
  const Study& study = *results.study;
  const StudySummary summary = summarise(results);
  TextTable table;
  for (const StudyAxis& axis : study.axes) table.head.push_back(axis.name);
  table.head.emplace_back("runs");
  for (const std::string& metric : study.metrics) {
    for (const char* ending : {"", " half width", " published"}) {
      table.head.push_back(metric + ending);
    }
  }
  for (const StudyRow& row : summary.rows) {
    std::vector<std::string> words = row.labels;
    words.push_back(std::to_string(row.runs));
    for (size_t m = 0; m < study.metrics.size(); ++m) {
      const bool is_share = metric_is_share(study.kind(study.metrics[m]));
      const StudyCell& cell = row.cells[m];
      words.push_back(csv_number(cell.spread.mean, is_share));
      words.push_back(csv_number(cell.spread.half_width, is_share));
      words.push_back(cell.published ? format_number("%g", *cell.published)
                                     : "");
    }
    table.rows.push_back(std::move(words));
  }
  return csv_table(table);
}

std::string study_json(const StudyResults& results) {
  const Study& study = *results.study;
  Json json = {{"study", study.name},
               {"title", study.title},
               {"combinations", Json::array()},
               {"runs", Json::array()}};
  for (const StudyRow& row : summarise(results).rows) {
    Json metrics = Json::object();
    for (size_t m = 0; m < study.metrics.size(); ++m) {
      const StudyCell& cell = row.cells[m];
      Json& entry = metrics[study.metrics[m]];
      entry = {{"mean", cell.spread.mean},
               {"half_width", cell.spread.half_width},
               {"low", cell.spread.low},
               {"high", cell.spread.high},
               {"count", cell.spread.count}};
      if (cell.published) entry["published"] = *cell.published;
    }
    json["combinations"].push_back({{"labels", labels_json(study, row.labels)},
                                    {"runs", row.runs},
                                    {"metrics", metrics}});
  }
  for (const RunResult& run : results.runs) {
    json["runs"].push_back({{"labels", labels_json(study, run.labels)},
                            {"seed", run.seed},
                            {"folder", run.folder},
                            {"metrics", run.metrics}});
    for (const auto& [metric, interval] : run.intervals) {
      json["runs"].back()["intervals"][metric] = {interval.low, interval.high};
    }
  }
  for (const JudgedClaim& one : judge_claims(results)) {
    json["claims"].push_back({{"says", one.claim->says},
                              {"labels", labels_json(study, one.open)},
                              {"metric", one.claim->metric},
                              {"higher", one.higher},
                              {"lower", one.lower},
                              {"difference", one.difference.mean},
                              {"half_width", one.difference.half_width},
                              {"seeds", one.difference.count},
                              {"verdict", one.verdict},
                              {"reason", one.reason}});
  }
  if (!study.published_source.empty()) {
    json["published_source"] = study.published_source;
  }
  return json_text(json) + "\n";
}

}  // namespace kith
