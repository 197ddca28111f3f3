#include "kith/study/figure_metric.h"

#include <algorithm>
#include <set>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/eval/protocol.h"

namespace kith {
namespace {

std::string place(const std::string& figure, const std::string& key) {
  return "figure '" + figure + "', '" + key + "'";
}

void add_parsed(const std::vector<std::string>& names,
                std::set<std::string>& all) {
  for (const NamedMetric& metric : parse_metrics(names))
    all.insert(metric.name);
}

/// `eval.metrics` of a configuration, if it has them.
void add_of_config(const ConfigNode& config, std::set<std::string>& all) {
  const ConfigNode* eval = config.find("eval");
  const ConfigNode* list = eval == nullptr ? nullptr : eval->find("metrics");
  if (list == nullptr) return;
  std::vector<std::string> names;
  for (const ConfigNode& item : list->items) names.push_back(item.scalar);
  add_parsed(names, all);
}

std::string text_at(const ConfigNode& config, const char* section,
                    const char* key, const std::string& otherwise) {
  const ConfigNode* map = config.find(section);
  const ConfigNode* node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? otherwise : node->scalar;
}

/// All that any run of a study measures.
std::set<std::string> measured(const Study& study) {
  std::set<std::string> all;
  add_of_config(study.base, all);
  for (const StudyAxis& axis : study.axes) {
    for (const AxisValue& value : axis.values) add_of_config(value.over, all);
  }
  if (all.empty()) {
    const std::string data = text_at(study.base, "data", "name", "");
    const std::string protocol =
        text_at(study.base, "eval", "protocol", usual_protocol(data));
    add_parsed(usual_metrics(protocol, data), all);
  }
  for (const std::string& name : study.metrics)
    all.insert(MetricName::parse(name).metric());
  return all;
}

}  // namespace

FigureMetric figure_metric(const std::string& figure, const std::string& key,
                           const std::string& name) {
  std::vector<NamedMetric> parsed;
  try {
    parsed = parse_metrics({MetricName::parse(name).metric()});
  } catch (const ConfigError& error) {
    throw ConfigError(place(figure, key) + ": " + error.what());
  }
  if (parsed.size() != 1) {
    throw ConfigError(place(figure, key) + ": '" + name +
                      "' must be one metric, such as recall_any@1");
  }
  const auto* set = dynamic_cast<const SetMetric*>(parsed[0].metric.get());
  FigureMetric metric;
  metric.name = name;
  metric.is_list = set != nullptr && set->is_list();
  const bool percent = parsed[0].metric->is_share() && !metric.is_list;
  metric.label = name + (percent ? " (%)" : "");
  metric.factor = percent ? 100.0 : 1.0;
  return metric;
}

FigureMetric measured_metric(const Study& study, const std::string& figure,
                             const std::string& key, const std::string& name,
                             bool list) {
  const FigureMetric metric = figure_metric(figure, key, name);
  const std::set<std::string> all = measured(study);
  if (all.count(MetricName::parse(name).metric()) == 0) {
    throw_unknown(place(figure, key) + " (not in 'eval.metrics')",
                  "metric of the study", name, {all.begin(), all.end()});
  }
  if (study.folds > 0 && !list && MetricName::parse(name).part.empty()) {
    throw ConfigError(place(figure, key) + ": of folds there are 'separated/" +
                      name + "' and 'concatenated/" + name + "'");
  }
  if (metric.is_list != list) {
    throw ConfigError(place(figure, key) + ": '" + name + "' is " +
                      (metric.is_list ? "a list of numbers; draw it with "
                                        "'spectra'"
                                      : "one number; take 'spectrum' or "
                                        "'class_spectrum'"));
  }
  return metric;
}

}  // namespace kith
