#include "kith/eval/eval_json.h"

#include <nlohmann/json.hpp>

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

Json part_json(const EvalPart& part) {
  Json json = Json::object();
  if (!part.name.empty()) json["name"] = part.name;
  json["queries"] = part.queries;
  json["gallery"] = part.gallery;
  json["queries_without_positives"] = part.without_positives;
  json["self"] =
      part.self_excluded ? "excluded by index" : "not in the gallery";
  if (part.junk > 0) json["junk"] = part.junk;
  if (part.draws > 1) json["draws"] = part.draws;
  return json;
}

Json value_json(const MetricValue& metric) {
  if (metric.list.empty()) return metric.value;
  return metric.list;
}

}  // namespace

std::string eval_json(const EvalResult& result) {
  Json json =
      result.parts.size() == 1 ? part_json(result.parts[0]) : Json::object();
  if (result.parts.size() != 1) {
    json["parts"] = Json::array();
    for (const EvalPart& part : result.parts) {
      json["parts"].push_back(part_json(part));
    }
  }
  json["rules"] = result.protocol_line();
  json["metrics"] = Json::object();
  for (const MetricValue& m : result.metrics) {
    json["metrics"][m.name] = value_json(m);
  }
  return json.dump();
}

}  // namespace kith
