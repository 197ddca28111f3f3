// What each run was, and its whole configuration.

#include <algorithm>

#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/report/metric_record.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

/// The text at "a.b.c" of a configuration; empty if it is not there.
std::string value_at(const ConfigNode& config, const std::string& path) {
  const ConfigNode* node = &config;
  for (size_t begin = 0; node != nullptr && begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    node = node->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return node == nullptr ? "" : node->scalar;
}

/// The values that are there, with their words: "adam, learning rate 0.002".
struct Fact {
  const char* word;
  const char* path;
};

std::string facts_text(const RunRecord& run, const std::vector<Fact>& facts) {
  std::vector<std::string> texts;
  for (const Fact& fact : facts) {
    const std::string value = value_at(run.config, fact.path);
    if (value.empty()) continue;
    texts.push_back(*fact.word == '\0' ? value : fact.word + (" " + value));
  }
  return texts.empty() ? kDash : join(texts);
}

/// "40", or "1 + 40" if the head alone is trained first.
std::string epochs_of(const RunRecord& run) {
  const std::string head = value_at(run.config, "train.head_epochs");
  const std::string epochs = value_at(run.config, "train.epochs");
  return head.empty() || head == "0" ? epochs : head + " + " + epochs;
}

/// How far the run is.
std::string state_of(const RunRecord& run) {
  if (run.finished) {
    return run.ended_by == "train.patience"
               ? "finished early, by train.patience"
               : "finished";
  }
  if (run.steps.empty()) return "not finished: no step is logged";
  const LoggedStep& last = run.steps.back();
  const std::string epochs = epochs_of(run);
  return "not finished: step " + count_text(last.step) + ", in epoch " +
         count_text(last.epoch + 1) + (epochs.empty() ? "" : " of " + epochs);
}

/// "after epoch 30: train.epochs 30 to 60"
std::string changes_of(const RunRecord& run) {
  std::vector<std::string> texts;
  for (const RunChange& change : run.changes) {
    const auto shown = [](const std::string& value) {
      return value.empty() ? std::string(kDash) : value;
    };
    texts.push_back("after epoch " + count_text(change.epoch) + ", step " +
                    count_text(change.step) + ": " + change.key + " " +
                    shown(change.before) + " → " + shown(change.after));
  }
  return texts.empty() ? kDash : join(texts, "; ");
}

/// Images of its data set that cannot be read.
std::string left_out_of(const RunRecord& run) {
  return run.left_out.empty() ? std::string(kDash) : run.left_out;
}

std::string test_of_run(const RunRecord& run) {
  const std::string text = test_text(run);
  return text.empty() ? std::string(kDash) : text;
}

using Text = std::string (*)(const RunRecord& run);

struct Row {
  const char* title;
  Text text;
  bool code = false;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"State", state_of},
      {"Best",
       [](const RunRecord& run) {
         return run.best.empty() ? std::string(kDash) : run.best;
       }},
      {"Test split", test_of_run},
      {"Data",
       [](const RunRecord& run) {
         return facts_text(run, {{"", "data.name"}, {"in", "data.path"}});
       }},
      {"Left out", left_out_of},
      {"Network",
       [](const RunRecord& run) {
         return facts_text(run, {{"", "model.backbone.name"},
                                 {"pooling", "model.head.pooling"},
                                 {"dimensions", "model.head.dim"},
                                 {"weights", "model.weights"}});
       }},
      {"Loss",
       [](const RunRecord& run) {
         return facts_text(run, {{"", "loss.name"}, {"miner", "miner.name"}});
       }},
      {"Batches",
       [](const RunRecord& run) {
         return facts_text(run, {{"", "sampler.name"},
                                 {"batches of", "sampler.batch"},
                                 {"per class", "sampler.per_class"}});
       }},
      {"Optimiser",
       [](const RunRecord& run) {
         return facts_text(run, {{"", "optimizer.name"},
                                 {"learning rate", "optimizer.lr"},
                                 {"schedule", "schedule.name"}});
       }},
      {"Epochs",
       [](const RunRecord& run) {
         const std::string epochs = epochs_of(run);
         return epochs.empty() ? std::string(kDash) : epochs;
       }},
      {"Changed on the way", changes_of},
      {"Seed",
       [](const RunRecord& run) {
         return facts_text(run, {{"", "train.seed"}});
       }},
      {"Folder", [](const RunRecord& run) { return run.folder; }, true}};
  return kRows;
}

std::string configuration(const Report& report, const RunRecord& run) {
  const std::string name = report.runs.size() == 1
                               ? "The whole configuration"
                               : "The whole configuration of " + run.name;
  return folded(name, "<pre tabindex=\"0\" role=\"group\" aria-label=\"" +
                          html_escape(name) + "\"><code>" +
                          html_escape(to_yaml(run.config)) + "</code></pre>\n");
}

}  // namespace

std::string run_section(const Report& report) {
  if (report.runs.empty()) return "";
  HtmlTable table =
      table_of_runs(report, "", "Facts of the runs", /*numbers=*/false);
  const bool any_changed =
      std::any_of(report.runs.begin(), report.runs.end(),
                  [](const RunRecord& run) { return !run.changes.empty(); });
  const bool any_left_out =
      std::any_of(report.runs.begin(), report.runs.end(),
                  [](const RunRecord& run) { return !run.left_out.empty(); });
  const bool any_tested =
      std::any_of(report.runs.begin(), report.runs.end(),
                  [](const RunRecord& run) { return run.test.has_value(); });
  for (const Row& row : rows()) {
    if (row.text == test_of_run && !any_tested) continue;
    if (row.text == left_out_of && !any_left_out) continue;
    if (row.text == changes_of && !any_changed) continue;
    std::vector<HtmlCell> cells = {{row.title, ""}};
    for (const RunRecord& run : report.runs) {
      cells.push_back({row.text(run), "", row.code});
    }
    table.rows.push_back(std::move(cells));
  }
  std::string html = "<div class=\"facts\">\n" + html_table(table) + "</div>\n";
  for (const RunRecord& run : report.runs) html += configuration(report, run);
  return html;
}

}  // namespace kith
