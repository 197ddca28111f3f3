#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/run/run_changes.h"
#include "kith/run/run_metrics.h"

namespace kith {

/// JSON of what is stored, for the readers and writers of kith/run. All of
/// these throw OrderedJson::exception for what they do not expect.
using OrderedJson = nlohmann::ordered_json;

/// An entry of an object; null if it is not there.
inline const OrderedJson& field(const OrderedJson& object, const char* key) {
  static const OrderedJson null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

/// A number, NaN for null, which is how JSON writes what is not finite.
inline double number_of(const OrderedJson& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                         : value.get<double>();
}

/// A count from 0 to 10^15, in which sums are far from overflow; 0 for null.
inline int64_t count_of(const OrderedJson& value) {
  constexpr double kMost = 1e15;
  if (value.is_null()) return 0;
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= kMost)) {
    throw OrderedJson::out_of_range::create(0, "no count", &value);
  }
  return static_cast<int64_t>(number);
}

/// Text; empty for null.
inline std::string text_of(const OrderedJson& value) {
  return value.is_null() ? std::string() : value.get<std::string>();
}

/// The entries of an object that are numbers, null or lists of these, in their
/// order; texts and objects are left out. None for null.
std::vector<StoredMetric> metrics_of(const OrderedJson& object);
OrderedJson json_of(const std::vector<StoredMetric>& metrics);

/// {"images": 2, "first": [paths]}
OrderedJson json_of(const std::vector<BrokenImage>& left_out);

/// {"queries": ..., "rules": ..., "metrics": {...}}
StoredEval eval_of(const OrderedJson& object);
OrderedJson json_of(const StoredEval& eval);

/// The same with "epoch" and "step" in front.
RunPoint point_of(const OrderedJson& object);
OrderedJson json_of(const RunPoint& point);

/// {"metric": ..., "value": ..., "epoch": ..., "step": ...}, or null.
std::optional<BestPoint> best_of(const OrderedJson& object);
OrderedJson json_of(const std::optional<BestPoint>& best);

/// {"checkpoint": "best", "epoch": ..., "step": ..., "after_step": ...,
/// "split": "test", "queries": ...}, or null.
std::optional<TestPoint> test_of(const OrderedJson& object);
OrderedJson json_of(const TestPoint& test);

/// {"epoch": ..., "step": ..., "key": ..., "old": ..., "new": ...}
RunChange change_of(const OrderedJson& object);
OrderedJson json_of(const RunChange& change);

}  // namespace kith
