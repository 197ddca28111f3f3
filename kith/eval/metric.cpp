#include "kith/eval/metric.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "kith/core/error.h"
#include "kith/eval/metric_name.h"

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

double parse_number(const std::string& text, const std::string& name) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) {
    throw ConfigError("metric '" + name + "': '" + text +
                      "' is not a number; expected a form such as "
                      "recall_any@1,10");
  }
  return number;
}

/// A number in one way only: "01" is "1". Fractions stay as they are written.
std::string number_text(const std::string& text, double number) {
  constexpr double kMost = 1e15;  // exact in a double
  if (number != std::floor(number) || std::abs(number) > kMost) return text;
  return std::to_string(static_cast<int64_t>(number));
}

NamedMetric make_metric(const std::string& name, const std::string& base,
                        std::optional<double> number) {
  const auto& entry = metric_registry().at(base, "");
  NamedMetric named;
  named.name = name;
  named.summary = entry.summary;
  named.metric =
      entry.make(ConfigNode::map(), "metric", MetricInput{number, base});
  return named;
}

/// "rho_2" is rho@2: the study's name for it. Unless a metric has that name.
bool has_number_in_name(const std::string& name, std::string& base,
                        double& number) {
  const size_t at = name.rfind('_');
  if (at == std::string::npos || at + 1 == name.size()) return false;
  if (name.find_first_not_of("0123456789", at + 1) != std::string::npos) {
    return false;
  }
  base = name.substr(0, at);
  if (metric_registry().contains(name) || !metric_registry().contains(base)) {
    return false;
  }
  number = parse_number(name.substr(at + 1), name);
  return true;
}

}  // namespace

MetricRegistry& metric_registry() {
  static MetricRegistry registry("metric");
  return registry;
}

bool is_better(double value, double than, Better better) {
  if (better == Better::kNeither || !std::isfinite(value)) return false;
  if (!std::isfinite(than)) return true;
  return better == Better::kLarger ? value > than : value < than;
}

int64_t RankedQuery::hits(int64_t k) const {
  return std::upper_bound(ranks.begin(), ranks.end(), k) - ranks.begin();
}

int64_t metric_k(const MetricInput& input) {
  const std::string& name = input.name;
  if (!input.at) {
    throw ConfigError("metric '" + name + "' needs a k: " + name + "@1");
  }
  constexpr double kMost = 1e15;  // exact in a double
  if (!(*input.at >= 1 && *input.at <= kMost) ||
      *input.at != std::floor(*input.at)) {
    throw ConfigError("metric '" + name +
                      "': k must be a positive integer, in a form such as "
                      "recall_any@1,10");
  }
  return static_cast<int64_t>(*input.at);
}

int64_t checked_k(int64_t k) {
  if (k >= 1) return k;
  throw ConfigError("the k of a metric must be at least 1, not " +
                    std::to_string(k));
}

void no_metric_number(const MetricInput& input) {
  if (input.at) throw ConfigError("metric '" + input.name + "' takes no k");
}

std::vector<NamedMetric> parse_metrics(const std::vector<std::string>& names) {
  std::vector<NamedMetric> metrics;
  for (const std::string& name : names) {
    // Not one MetricName yet: there may be several numbers, or none.
    const size_t at = name.find('@');
    std::string base = name.substr(0, at);
    double number = 0;
    if (at != std::string::npos) {
      metric_registry().at(base, "");
      for (const std::string& text : split(name.substr(at + 1), ',')) {
        const double value = parse_number(text, name);
        try {
          metrics.push_back(
              make_metric(MetricName{"", base, number_text(text, value)}.text(),
                          base, value));
        } catch (const ConfigError& error) {
          throw ConfigError("'" + text + "' in '" + name +
                            "': " + error.what());
        }
      }
    } else if (has_number_in_name(name, base, number)) {
      metrics.push_back(make_metric(name, base, number));
    } else {
      metrics.push_back(make_metric(name, name, {}));
    }
  }
  return metrics;
}

Better better_of(const std::string& name) {
  try {
    const auto found = parse_metrics({MetricName::parse(name).metric()});
    return found.size() == 1 ? found[0].metric->better() : Better::kNeither;
  } catch (const ConfigError&) {
    return Better::kNeither;
  }
}

std::vector<std::string> split_metric_list(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : split(text, ',')) {
    const bool number =
        !part.empty() &&
        std::string_view("0123456789.").find(part[0]) != std::string_view::npos;
    if (number && !names.empty()) {
      names.back() += "," + part;
    } else {
      names.push_back(part);
    }
  }
  return names;
}

}  // namespace kith
