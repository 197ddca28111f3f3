#include "tests/support/torch/golden.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "kith/core/file.h"
#include "kith/io/tensor_io.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

std::string folder(const GoldenCase& golden) {
  return golden_dir() + "/" + golden.item + "/" + golden.name;
}

}  // namespace

nlohmann::json GoldenCase::meta() const {
  return nlohmann::json::parse(
      read_file(folder(*this) + "/meta.json", uint64_t{1} << 24));
}

Tensor GoldenCase::array(const std::string& array_name) const {
  return load_npy(folder(*this) + "/" + array_name + ".npy");
}

std::string GoldenCase::test_name() const {
  std::string text = item + "_" + name;
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char c) { return !std::isalnum(c); }, '_');
  return text;
}

std::vector<GoldenCase> golden_cases(const std::string& item) {
  std::vector<GoldenCase> cases;
  const std::string path = golden_dir() + "/" + item;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_directory()) {
      cases.push_back({item, entry.path().filename().string()});
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

std::vector<std::string> golden_items() {
  std::vector<std::string> items;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir())) {
    if (entry.is_directory()) items.push_back(entry.path().filename().string());
  }
  std::sort(items.begin(), items.end());
  return items;
}

std::vector<GoldenCase> golden_cases(const std::vector<std::string>& items) {
  std::vector<GoldenCase> all;
  for (const std::string& item : items) {
    const std::vector<GoldenCase> cases = golden_cases(item);
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace kith
