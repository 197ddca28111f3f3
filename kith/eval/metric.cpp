#include "kith/eval/metric.h"

#include <cctype>
#include <charconv>

#include "kith/core/error.h"

namespace kith {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

int64_t parse_k(const std::string& text, const std::string& name) {
  int64_t k = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, k);
  if (error != std::errc() || stop != end || k < 1) {
    throw ConfigError("metric '" + name + "': '" + text +
                      "' is not a number of neighbours; expected a form such "
                      "as recall_any@1,10");
  }
  return k;
}

NamedMetric make_metric(const std::string& base, int64_t k) {
  const auto& entry = metric_registry().at(base, "");
  NamedMetric named;
  named.name = k == 0 ? base : base + "@" + std::to_string(k);
  named.summary = entry.summary;
  named.metric = entry.make(ConfigNode::map(), "metric", MetricInput{k});
  return named;
}

}  // namespace

MetricRegistry& metric_registry() {
  static MetricRegistry registry("metric");
  return registry;
}

std::vector<NamedMetric> parse_metrics(const std::vector<std::string>& names) {
  std::vector<NamedMetric> metrics;
  for (const std::string& name : names) {
    const size_t at = name.find('@');
    const std::string base = name.substr(0, at);
    if (at == std::string::npos) {
      metrics.push_back(make_metric(base, 0));
      continue;
    }
    for (const std::string& k : split(name.substr(at + 1), ',')) {
      metrics.push_back(make_metric(base, parse_k(k, name)));
    }
  }
  return metrics;
}

std::vector<std::string> split_metric_list(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : split(text, ',')) {
    const bool number =
        !part.empty() && std::isdigit(static_cast<unsigned char>(part[0]));
    if (number && !names.empty()) {
      names.back() += "," + part;
    } else {
      names.push_back(part);
    }
  }
  return names;
}

}  // namespace kith
