#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kith/core/registry.h"

namespace kith {

/// One query as metrics see it.
struct RankedQuery {
  std::span<const uint8_t> relevant;  ///< By rank, nearest first: 1 = positive.
  int64_t positives = 0;              ///< R: positives in the whole gallery.
};

/// The k of "recall_any@k"; 0 for metrics without one.
struct MetricInput {
  int64_t k = 0;
};

/// A number for each query; the metric is its mean over queries.
class Metric {
 public:
  virtual ~Metric() = default;

  /// Ranks it looks at, for a query with this many positives.
  virtual int64_t depth(int64_t positives) const = 0;

  /// relevant has depth(positives) entries, or all there are.
  virtual double value(const RankedQuery& query) const = 0;
};

using MetricRegistry = Registry<Metric, MetricInput>;
MetricRegistry& metric_registry();

struct NamedMetric {
  std::string name;     ///< "recall_any@10"
  std::string summary;  ///< Its definition in one line.
  std::unique_ptr<Metric> metric;
};

/// "recall_any@1,10" is two metrics; "map_at_r" is one. ConfigError for an
/// unknown name, a k that is missing, not wanted, or not a positive integer.
std::vector<NamedMetric> parse_metrics(const std::vector<std::string>& names);

/// Splits "recall_any@1,10,map_at_r" at the commas that separate metrics.
std::vector<std::string> split_metric_list(const std::string& text);

}  // namespace kith
