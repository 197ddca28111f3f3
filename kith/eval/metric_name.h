#pragma once

#include <string>

namespace kith {

/// The name of a metric as configurations, files and tables have it:
///
///     medium/recall_any@10     part / base @ number
///
/// The part is one of a protocol ("medium"), or several, the outer first
/// ("separated/medium"). Names of metrics have no slash and no @.
struct MetricName {
  std::string part;    ///< Empty: of the only part.
  std::string base;    ///< As it is registered: "recall_any".
  std::string number;  ///< As it is written: "10", "0.001"; empty: none.

  /// Never fails: what is no metric's name has a base that is not registered.
  static MetricName parse(const std::string& text);

  /// "medium/recall_any@10"
  std::string text() const;

  /// Without the part: "recall_any@10".
  std::string metric() const;

  /// "recall_any@k": the metric with any number.
  std::string general() const;

  /// Whether this is the metric `name`, in whatever part: a "medium/map" is a
  /// "map", and so is a "map".
  bool is(const std::string& name) const;

  /// The same metric in a part around its own: "separated/medium/map".
  MetricName within(const std::string& outer) const;

  bool operator==(const MetricName&) const = default;
};

}  // namespace kith
