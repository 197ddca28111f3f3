#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/io/array.h"
#include "tests/support/paths.h"

namespace kith {

/// One case of tests/golden, as the files that are given to the program.
struct GoldenFiles {
  std::string item;
  std::string name;

  std::string path(const std::string& array) const {
    return golden_dir() + "/" + item + "/" + name + "/" + array + ".npy";
  }

  nlohmann::json meta() const {
    std::ifstream file(golden_dir() + "/" + item + "/" + name + "/meta.json");
    return nlohmann::json::parse(file);
  }
};

/// The cases of an item in the order of their names.
inline std::vector<GoldenFiles> golden_files(const std::string& item) {
  std::vector<GoldenFiles> cases;
  const std::string folder = golden_dir() + "/" + item;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    cases.push_back({item, entry.path().filename().string()});
  }
  std::sort(cases.begin(), cases.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

/// Elements of a float array as double.
inline std::vector<double> as_doubles(const Array& array) {
  if (array.dtype == DType::kF64) {
    const auto values = array.values<double>();
    return {values.begin(), values.end()};
  }
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace kith
