#pragma once

#include <array>
#include <string>
#include <vector>

#include "kith/core/error.h"

namespace kith {

/// The ends of a range that an option gives as a list. ConfigError unless it
/// has two values, the lesser one first.
template <class T>
std::array<T, 2> range_of(const std::vector<T>& values, const std::string& part,
                          const std::string& option) {
  if (values.size() != 2 || values[0] > values[1]) {
    throw ConfigError(part + ": '" + option +
                      "' needs two values, the lesser one first");
  }
  return {values[0], values[1]};
}

}  // namespace kith
