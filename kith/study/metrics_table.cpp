#include "kith/study/metrics_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "kith/core/number_text.h"
#include "kith/eval/metric_name.h"
#include "kith/study/text_table.h"

namespace kith {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Names before "@k" and without the part.
const std::map<std::string, std::string>& printed_names() {
  static const std::map<std::string, std::string> names = {
      {"recall_any", "R"},
      {"precision", "P"},
      {"map_at_r", "MAP@R"},
      {"r_precision", "R-Precision"},
      {"map", "mAP"},
      {"map_trapezoid", "mAP"},
      {"map_c", "mAP@C"},
      {"precision_c", "P@C"},
      {"map_1000", "mAP@1000"},
      {"mp", "mP"},
      {"mrr", "MRR"},
      {"ndcg", "nDCG"},
      {"nmi", "NMI"},
      {"ami", "AMI"},
      {"f1", "F1"},
      {"tar", "TAR"},
      {"far", "FAR"},
      {"auroc", "AUROC"},
      {"auprc", "AUPRC"},
      {"fpir", "FPIR"},
      {"tpir", "TPIR"}};
  return names;
}

constexpr const char* kPublished = "published";
constexpr const char* kReranked = ", re-ranked";  ///< After a model's name.

struct TabledModel {
  const std::string& name;
  const EvalReport& report;
};

/// With a threshold, and what it does, as further metrics.
EvalReport with_decision(const EvalReport& report) {
  EvalReport all = report;
  if (!report.decision) return all;
  MetricValue threshold{"threshold", report.decision->threshold, ""};
  threshold.interval = report.decision->interval;
  threshold.is_share = false;
  all.result.metrics.push_back(std::move(threshold));
  for (const MetricValue& rate : report.decision->rates) {
    all.result.metrics.push_back(rate);
  }
  return all;
}

bool has_published(const EvalReport& report) {
  return !report.published.empty() || !report.published_source.empty();
}

/// The places of the metrics that are one number.
std::vector<size_t> columns_of(const EvalResult& result) {
  std::vector<size_t> columns;
  for (size_t m = 0; m < result.metrics.size(); ++m) {
    if (result.metrics[m].list.empty()) columns.push_back(m);
  }
  return columns;
}

/// As numbers for programs and those of papers are: shares in percent.
double in_percent(const MetricValue& metric, double value) {
  return metric.is_share ? 100 * value : value;
}

/// NaN without an interval.
double half_width(const MetricValue& metric) {
  if (!metric.interval) return kUnknown;
  return (metric.interval->high - metric.interval->low) / 2;
}

/// The metrics after re-ranking in the places of those before; NaN for those
/// that are not of ranks.
EvalResult reranked_result(const EvalReport& report) {
  EvalResult result = report.result;
  for (MetricValue& metric : result.metrics) {
    metric.value = report.reranked->at(metric.name);
    metric.interval.reset();
    for (const MetricValue& other : report.reranked->metrics) {
      if (other.name == metric.name) metric.interval = other.interval;
    }
  }
  return result;
}

double published_value(const EvalReport& report, const MetricValue& metric) {
  const auto found = report.published.find(metric.name);
  return found == report.published.end() ? kUnknown
                                         : in_percent(metric, found->second);
}

/// A table for a paper has no "inf".
constexpr MetricStyle kPaperStyle{"-", "", false};

/// A published number has the digits it was printed with.
std::string published_number(double value, const char* unknown) {
  return std::isnan(value) ? unknown : format_number("%g", value);
}

/// Names as papers have them, unless two of the columns would be alike.
std::vector<std::string> column_names(const EvalResult& result) {
  std::map<std::string, int> count;
  for (size_t m : columns_of(result))
    ++count[paper_name(result.metrics[m].name)];
  std::vector<std::string> names;
  for (size_t m : columns_of(result)) {
    const std::string name = paper_name(result.metrics[m].name);
    names.push_back(count[name] == 1 ? name : result.metrics[m].name);
  }
  return names;
}

/// How a format writes what is more than a word.
struct Style {
  std::string plus_minus;
  std::string (*text)(const std::string&);
};

TextTable empty_table(const char* first, const EvalResult& result,
                      const Style& style) {
  TextTable table;
  table.head = {first};
  for (const std::string& name : column_names(result)) {
    table.head.push_back(style.text(name));
  }
  return table;
}

TextTable model_table(const TabledModel& model, const Style& style) {
  TextTable table = empty_table("Model", model.report.result, style);
  const auto add_row = [&](const std::string& name, const EvalResult& result) {
    std::vector<std::string> words = {style.text(name)};
    for (size_t m : columns_of(result)) {
      const MetricValue& metric = result.metrics[m];
      words.push_back(plus_minus_text(metric.value, half_width(metric),
                                      metric.is_share, style.plus_minus,
                                      kPaperStyle));
    }
    table.rows.push_back(std::move(words));
  };
  add_row(model.name, model.report.result);
  if (model.report.reranked) {
    add_row(model.name + kReranked, reranked_result(model.report));
  }
  if (has_published(model.report)) {
    std::vector<std::string> words = {style.text(kPublished)};
    for (size_t m : columns_of(model.report.result)) {
      words.push_back(published_number(
          published_value(model.report, model.report.result.metrics[m]), "-"));
    }
    table.rows.push_back(std::move(words));
  }
  return table;
}

TextTable corruption_table(const TabledModel& model, const Style& style) {
  TextTable table = empty_table("Images", model.report.result, style);
  const auto add = [&](const std::string& name, const auto& value) {
    std::vector<std::string> words = {style.text(name)};
    for (size_t m : columns_of(model.report.result)) {
      const MetricValue& metric = model.report.result.metrics[m];
      words.push_back(metric_text(value(m), metric.is_share, kPaperStyle));
    }
    table.rows.push_back(std::move(words));
  };
  add("clean", [&](size_t m) { return model.report.result.metrics[m].value; });
  for (const CorruptedResult& one : model.report.corrupted) {
    add(one.corruption, [&](size_t m) { return one.result.metrics[m].value; });
  }
  add("mean of corrupted",
      [&](size_t m) { return mean_of_corrupted(model.report.corrupted, m); });
  return table;
}

TextTable compression_table(const TabledModel& model, const Style& style) {
  const std::vector<CompressedResult>& all = model.report.compressed;
  TextTable table = empty_table("Vectors", all.front().result, style);
  table.head.insert(table.head.begin() + 1, "Bytes");
  for (const CompressedResult& one : all) {
    std::vector<std::string> words = {style.text(one.form),
                                      std::to_string(one.bytes)};
    for (const MetricValue& metric : one.result.metrics) {
      words.push_back(metric_text(metric.value, metric.is_share, kPaperStyle));
    }
    table.rows.push_back(std::move(words));
  }
  return table;
}

/// What the numbers are and what they stand on, below the table.
std::string notes(const TabledModel& model, const std::string& plus_minus) {
  bool with_interval = false;
  for (size_t m : columns_of(model.report.result)) {
    with_interval |= std::isfinite(half_width(model.report.result.metrics[m]));
  }
  std::string text = "Shares in percent";
  if (with_interval) text += "," + plus_minus + "half of the 95% interval";
  text += ".";
  if (const std::string& source = model.report.published_source;
      !source.empty()) {
    text += std::string(" ") + kPublished + ": " + source + ".";
  }
  if (model.report.reranked) {
    text += " Re-ranked by " + model.report.reranked->rerank + ".";
  }
  const std::string what = evaluated_text(model.report);
  return replaced(text + " " + (what.empty() ? "" : "Of the " + what + ": ") +
                      model.report.result.protocol_line(),
                  {{'\n', "; "}}) +
         "." +
         (model.report.decision
              ? " Threshold: " + model.report.decision->wish_text() + "."
              : "");
}

std::string markdown(const TabledModel& plain) {
  const EvalReport all = with_decision(plain.report);
  const TabledModel model{plain.name, all};
  const Style style = {" ± ", [](const std::string& text) { return text; }};
  std::string text = markdown_table(model_table(model, style)) + "\n" +
                     notes(model, style.plus_minus) + "\n";
  if (!plain.report.corrupted.empty()) {
    text += "\n" + markdown_table(corruption_table(plain, style));
  }
  if (!plain.report.compressed.empty()) {
    text += "\n" + markdown_table(compression_table(plain, style));
  }
  return text;
}

std::string latex(const TabledModel& plain) {
  const EvalReport all = with_decision(plain.report);
  const TabledModel model{plain.name, all};
  const Style style = {" $\\pm$ ", latex_text};
  std::string text = latex_table(model_table(model, style), 1) + "% " +
                     notes(model, " +- ") + "\n";
  if (!plain.report.corrupted.empty()) {
    text += "\n" + latex_table(corruption_table(plain, style), 1);
  }
  if (!plain.report.compressed.empty()) {
    text += "\n" + latex_table(compression_table(plain, style), 1);
  }
  return text;
}

/// Two fields for each metric of `columns`: value and half width; empty where a
/// result has no such metric.
void add_csv_fields(const EvalResult& columns, const EvalResult& result,
                    std::vector<std::string>& words) {
  for (size_t m : columns_of(columns)) {
    const auto found = std::find_if(
        result.metrics.begin(), result.metrics.end(),
        [&](const auto& own) { return own.name == columns.metrics[m].name; });
    const bool is_there = found != result.metrics.end();
    words.push_back(is_there ? csv_number(found->value, found->is_share) : "");
    words.push_back(is_there ? csv_number(half_width(*found), found->is_share)
                             : "");
  }
}

/// Which network, split and protocol: columns at the end, where these are
/// known.
std::vector<std::pair<const char*, std::string>> csv_facts(
    const EvalReport& report) {
  std::vector<std::pair<const char*, std::string>> facts;
  if (!report.checkpoint.file.empty()) {
    facts.emplace_back("checkpoint", report.checkpoint.text());
  }
  if (!report.split.empty()) facts.emplace_back("split", report.split);
  if (!report.protocol.empty()) facts.emplace_back("protocol", report.protocol);
  if (!report.compressed.empty()) {
    facts.emplace_back("vectors", report.compressed.front().form);
    facts.emplace_back("bytes",
                       std::to_string(report.compressed.front().bytes));
  }
  return facts;
}

std::string csv(const TabledModel& plain) {
  const EvalReport all = with_decision(plain.report);
  const TabledModel model{plain.name, all};
  TextTable table;
  table.head = {"model", "images"};
  const auto facts = csv_facts(model.report);
  const auto add_row = [&](std::vector<std::string> words, bool is_measured) {
    for (const auto& fact : facts) {
      words.push_back(is_measured ? fact.second : "");
    }
    table.rows.push_back(std::move(words));
  };
  for (size_t m : columns_of(model.report.result)) {
    table.head.push_back(model.report.result.metrics[m].name);
    table.head.push_back(model.report.result.metrics[m].name + " half width");
  }
  for (const auto& fact : facts) table.head.emplace_back(fact.first);
  std::vector<std::string> words = {model.name, "clean"};
  add_csv_fields(model.report.result, model.report.result, words);
  add_row(words, true);
  if (model.report.reranked) {
    words = {model.name + kReranked, "clean"};
    add_csv_fields(model.report.result, reranked_result(model.report), words);
    add_row(words, true);
  }
  for (const CorruptedResult& one : model.report.corrupted) {
    words = {model.name, one.corruption};
    add_csv_fields(model.report.result, one.result, words);
    add_row(words, true);
  }
  for (size_t i = 1; i < model.report.compressed.size(); ++i) {
    const CompressedResult& one = model.report.compressed[i];
    words = {model.name, "clean"};
    add_csv_fields(model.report.result, one.result, words);
    add_row(words, true);
    table.rows.back().end()[-2] = one.form;
    table.rows.back().back() = std::to_string(one.bytes);
  }
  if (has_published(model.report)) {
    words = {kPublished, "clean"};
    for (size_t m : columns_of(model.report.result)) {
      words.push_back(published_number(
          published_value(model.report, model.report.result.metrics[m]), ""));
      words.emplace_back();
    }
    add_row(words, false);
  }
  return csv_table(table);
}

}  // namespace

std::string paper_name(const std::string& metric) {
  const MetricName name = MetricName::parse(metric);
  const auto found = printed_names().find(name.base);
  if (found == printed_names().end()) return metric;
  return (name.part.empty() ? "" : name.part + " ") + found->second +
         (name.number.empty() ? "" : "@" + name.number);
}

std::string metrics_table(const std::string& format, const std::string& name,
                          const EvalReport& report) {
  const TabledModel model{name, report};
  if (format == "csv") return csv(model);
  return format == "latex" ? latex(model) : markdown(model);
}

}  // namespace kith
