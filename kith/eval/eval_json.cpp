#include "kith/eval/eval_json.h"

#include <nlohmann/json.hpp>

namespace kith {

std::string eval_json(const EvalResult& result) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (const MetricValue& m : result.metrics) metrics[m.name] = m.value;
  const nlohmann::ordered_json json = {
      {"queries", result.queries},
      {"gallery", result.gallery},
      {"queries_without_positives", result.without_positives},
      {"rules", result.protocol_line()},
      {"metrics", metrics}};
  return json.dump();
}

}  // namespace kith
