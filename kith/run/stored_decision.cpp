#include "kith/run/stored_decision.h"

#include <array>
#include <cmath>

#include "kith/run/detail/decision_json.h"

namespace kith {
namespace {

using Column = std::vector<double> DecisionCurve::*;

constexpr std::array<std::pair<const char*, Column>, 7> kColumns = {{
    {"threshold", &DecisionCurve::threshold},
    {"far", &DecisionCurve::far},
    {"tar", &DecisionCurve::tar},
    {"precision", &DecisionCurve::precision},
    {"coverage", &DecisionCurve::coverage},
    {"fpir", &DecisionCurve::fpir},
    {"tpir", &DecisionCurve::tpir},
}};

OrderedJson ends(const Interval& interval) {
  return {interval.low, interval.high};
}

std::optional<Interval> interval_in(const OrderedJson& ends) {
  if (ends.is_null()) return {};
  const Interval interval{number_of(ends.at(0)), number_of(ends.at(1))};
  if (std::isnan(interval.low) || std::isnan(interval.high)) return {};
  return interval;
}

DecisionCurve curve_of(const OrderedJson& json) {
  DecisionCurve curve;
  for (const auto& [name, column] : kColumns) {
    for (const OrderedJson& value : field(json, name)) {
      (curve.*column).push_back(number_of(value));
    }
    if ((curve.*column).size() != curve.threshold.size()) {
      throw OrderedJson::out_of_range::create(0, "columns differ", &json);
    }
  }
  return curve;
}

}  // namespace

OrderedJson json_of(const Decision& decision) {
  const DecisionSize& size = decision.size;
  OrderedJson json = {{"value", decision.threshold}};
  if (decision.interval) json["interval"] = ends(*decision.interval);
  json["wanted"] = decision.wish.text();
  json["meaning"] = decision.wish_text();
  if (!decision.picked_on.empty()) json["picked_on"] = decision.picked_on;
  json["same_images"] = decision.is_same_set;
  for (const MetricValue& rate : decision.rates) json[rate.name] = rate.value;
  for (const MetricValue& rate : decision.rates) {
    if (rate.interval) json["intervals"][rate.name] = ends(*rate.interval);
    json["definitions"][rate.name] = rate.definition;
  }
  json["classes"] = size.classes;
  json["positive_pairs"] = size.positive_pairs;
  json["negative_pairs"] = size.negative_pairs;
  json["queries"] = size.queries;
  json["unknown_classes"] = size.unknown_classes;
  json["mated"] = size.mated;
  json["non_mated"] = size.non_mated;
  json["resamples"] = decision.resamples;
  json["resampled"] = size.drawn == size.classes
                          ? "classes"
                          : std::to_string(size.drawn) + " groups of classes";
  json["seed"] = decision.seed;
  json["notes"] = decision.notes();
  for (const auto& [name, column] : kColumns) {
    json["curve"][name] = decision.curve.*column;
  }
  return json;
}

std::optional<StoredDecision> decision_of(const OrderedJson& object) {
  if (object.is_null()) return {};
  StoredDecision decision;
  decision.threshold = object.at("value").get<double>();
  decision.interval = interval_in(field(object, "interval"));
  decision.wanted = text_of(field(object, "wanted"));
  decision.meaning = text_of(field(object, "meaning"));
  for (const char* name : {"far", "tar", "auroc", "auprc", "precision",
                           "coverage", "fpir", "tpir"}) {
    decision.rates[name] = number_of(field(object, name));
  }
  const OrderedJson& intervals = field(object, "intervals");
  for (const auto& [name, value] : intervals.items()) {
    if (const auto interval = interval_in(value)) {
      decision.intervals[name] = *interval;
    }
  }
  for (const OrderedJson& line : field(object, "notes")) {
    decision.notes.push_back(text_of(line));
  }
  decision.curve = curve_of(field(object, "curve"));
  return decision;
}

}  // namespace kith
