#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "kith/report/run_files.h"

namespace kith {

using OrderedJson = nlohmann::ordered_json;

/// An entry of an object; null if it is not there.
inline const OrderedJson& field(const OrderedJson& object, const char* key) {
  static const OrderedJson null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

/// A number, NaN for null, which is how JSON writes what is not finite.
/// OrderedJson::exception for anything else.
inline double number_of(const OrderedJson& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                         : value.get<double>();
}

/// A count from 0 to 10^15, in which sums are far from overflow; 0 for null.
/// OrderedJson::exception for anything else.
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

/// The entries of an object that are numbers or null, in their order; lists,
/// texts and objects are left out. None for null. OrderedJson::exception for
/// anything else.
inline MetricNumbers numbers_of(const OrderedJson& object) {
  MetricNumbers numbers;
  if (object.is_null()) return numbers;
  if (!object.is_object()) {
    throw OrderedJson::type_error::create(0, "no object", &object);
  }
  for (const auto& [name, value] : object.items()) {
    if (value.is_number() || value.is_null()) {
      numbers.emplace_back(name, number_of(value));
    }
  }
  return numbers;
}

/// {"rules": ..., "metrics": {...}}, as eval_json() writes it.
inline EvalNumbers eval_numbers_of(const OrderedJson& object) {
  return {numbers_of(object.at("metrics")), text_of(field(object, "rules"))};
}

}  // namespace kith
