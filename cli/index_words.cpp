#include "cli/index_words.h"

#include <vector>

#include "kith/chart/html.h"
#include "kith/core/options.h"

namespace kith {

std::string bytes_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return format_fixed(size / 1e9, 1) + " GB";
  if (bytes >= 1'000'000) return format_fixed(size / 1e6, 1) + " MB";
  return format_fixed(size / 1e3, 1) + " kB";
}

std::string threshold_text(const IndexThreshold& threshold) {
  return "threshold " + format_fixed(threshold.value, 4) +
         (threshold.wanted.empty() ? "" : " (" + threshold.wanted + ")");
}

std::string recall_text(const std::map<std::string, double>& recall) {
  // By rising k: "10@10" comes after "2@2".
  std::map<std::pair<size_t, std::string>, double> sorted;
  for (const auto& [name, value] : recall) sorted[{name.size(), name}] = value;
  std::vector<std::string> words;
  words.reserve(sorted.size());
  for (const auto& [key, value] : sorted) {
    words.push_back(key.second + " " + format_fixed(100 * value, 1) + "%");
  }
  return join(words);
}

}  // namespace kith
