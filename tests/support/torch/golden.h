#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/tensor.h"

namespace kith {

/// One case of tests/golden: numbers that reference implementations computed.
struct GoldenCase {
  std::string item;  ///< "rsk"
  std::string name;  ///< "b16d8_4pc_sorted"

  nlohmann::json meta() const;
  /// An array of the case by its name in meta().
  Tensor array(const std::string& array_name) const;
  /// A name for GoogleTest: letters, digits and underscores.
  std::string test_name() const;
};

/// How GoogleTest shows a case.
inline void PrintTo(const GoldenCase& golden, std::ostream* out) {
  *out << golden.item << "/" << golden.name;
}

/// The cases of an item in the order of their names.
std::vector<GoldenCase> golden_cases(const std::string& item);

/// All items, sorted.
std::vector<std::string> golden_items();

/// The cases of several items.
std::vector<GoldenCase> golden_cases(const std::vector<std::string>& items);

}  // namespace kith
