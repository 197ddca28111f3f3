#include "kith/report/lead.h"

#include <algorithm>
#include <cmath>

#include "kith/core/number_text.h"
#include "kith/report/metric_record.h"

namespace kith {
namespace {

constexpr const char* kRecall = "recall_any@";

/// One decimal will do in a sentence.
std::string shown(double value, const RecordedMetric& metric) {
  return metric.is_share ? format_fixed(100 * value, 1) + "%"
                         : format_number("%.4g", value);
}

/// A scalar of a section of the configuration; empty without one.
std::string config_value(const RunRecord& run, const char* section,
                         const char* key) {
  const ConfigNode* map = run.config.find(section);
  const ConfigNode* node =
      map == nullptr || !map->is_map() ? nullptr : map->find(key);
  return node == nullptr ? "" : node->scalar;
}

/// A metric that has a value; null if there is none.
const RecordedMetric* value_of(const RunRecord& run, const std::string& name) {
  const RecordedMetric* metric = find_metric(run, name);
  return metric != nullptr && std::isfinite(metric->value) ? metric : nullptr;
}

/// What `eval.best` names, or else the first metric with a value. Null if there
/// is none.
const RecordedMetric* lead_metric(const RunRecord& run) {
  const RecordedMetric* best = main_metric(run);
  if (best != nullptr && std::isfinite(best->value)) return best;
  for (const RecordedMetric& metric : run.metrics) {
    if (std::isfinite(metric.value)) return &metric;
  }
  return nullptr;
}

/// "4000 queries", as the rules begin, and which split they are of unless it
/// is the test split.
std::string queries_text(const RunRecord& run) {
  const size_t digits = run.rules.find_first_not_of("0123456789");
  const bool counted = digits != std::string::npos && digits > 0 &&
                       run.rules.compare(digits, 8, " queries") == 0;
  std::string text =
      counted ? run.rules.substr(0, digits) + " queries" : "the queries";
  if (!run.split.empty() && run.split != "test") {
    text += " of the " + run.split + " split";
  }
  return text;
}

/// "Finds ... first for": what a recall says, if the metric is one.
std::string recall_words(const std::string& name) {
  if (!name.starts_with(kRecall)) return "";
  const std::string k = name.substr(std::string(kRecall).size());
  return "Finds an image of the right class " +
         (k == "1" ? "first" : "among the first " + k) + " for ";
}

std::string beside_text(const RecordedMetric& metric) {
  std::string text;
  if (metric.before && std::isfinite(*metric.before)) {
    text = "before training: " + shown(*metric.before, metric);
  }
  if (metric.published) {
    text += (text.empty() ? "" : "; ") + std::string("published: ") +
            shown(*metric.published, metric);
  }
  return text.empty() ? "" : " (" + text + ")";
}

std::string lead_of_one(const RunRecord& run) {
  const RecordedMetric* metric = lead_metric(run);
  const std::string ending =
      run.finished ? "" : " The training is not finished.";
  if (metric == nullptr) return "There is no evaluation yet." + ending;
  const std::string words = recall_words(metric->name);
  const std::string value = shown(metric->value, *metric);
  return (words.empty() ? metric->name + " is " + value + " over "
                        : words + value + " of ") +
         queries_text(run) + beside_text(*metric) + "." + ending;
}

/// Whether numbers of two evaluated runs are of the same kind: data set,
/// protocol, split, queries and gallery.
bool comparable(const RunRecord& a, const RunRecord& b) {
  return a.protocol == b.protocol && a.split == b.split && a.rules == b.rules &&
         config_value(a, "data", "name") == config_value(b, "data", "name");
}

/// "1 run has", "2 runs have".
std::string so_many(size_t count) {
  return std::to_string(count) + (count == 1 ? " run has" : " runs have");
}

std::string lead_of_several(const std::vector<RunRecord>& runs) {
  const auto first = std::find_if(
      runs.begin(), runs.end(),
      [](const RunRecord& run) { return lead_metric(run) != nullptr; });
  if (first == runs.end()) return "None of the runs has an evaluation yet.";
  const std::string name = lead_metric(*first)->name;
  std::vector<const RunRecord*> scored;
  for (const RunRecord& run : runs) {
    if (value_of(run, name) != nullptr) scored.push_back(&run);
  }
  const auto less = [&](const RunRecord* a, const RunRecord* b) {
    return value_of(*a, name)->value < value_of(*b, name)->value;
  };
  // Of equal runs both find the first.
  const auto low = std::min_element(scored.begin(), scored.end(), less);
  const auto high = std::max_element(scored.begin(), scored.end(), less);
  const auto value = [&](const RunRecord* run) {
    const RecordedMetric& metric = *value_of(*run, name);
    return shown(metric.value, metric);
  };
  std::string text = name + " ";
  if (scored.size() == 1) {
    text += value(*low) + " (" + (*low)->name + ").";
  } else if (value(*low) == value(*high)) {
    text += value(*low) + " in " + std::to_string(scored.size()) + " runs.";
  } else {
    text += "from " + value(*low) + " (" + (*low)->name + ") to " +
            value(*high) + " (" + (*high)->name + ").";
  }
  if (scored.size() < runs.size()) {
    text += " " + so_many(runs.size() - scored.size()) + " no such value.";
  }
  if (!std::all_of(scored.begin(), scored.end(), [&](const RunRecord* run) {
        return comparable(*run, **scored.begin());
      })) {
    text += " They were not all tested in the same way: mind what differs.";
  }
  return text;
}

}  // namespace

std::string report_title(const std::vector<RunRecord>& runs) {
  if (runs.size() > 3) return std::to_string(runs.size()) + " runs compared";
  std::string title;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) title += i + 1 == runs.size() ? " and " : ", ";
    title += runs[i].name;
  }
  return title;
}

std::string report_lead(const std::vector<RunRecord>& runs) {
  if (runs.empty()) return "";
  return runs.size() == 1 ? lead_of_one(runs.front()) : lead_of_several(runs);
}

}  // namespace kith
