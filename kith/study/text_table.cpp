#include "kith/study/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kith/study/results.h"

namespace kith {

std::string format_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

std::string replaced(const std::string& text,
                     const std::vector<std::pair<char, const char*>>& by) {
  std::string result;
  for (char c : text) {
    const auto found = std::find_if(
        by.begin(), by.end(), [&](const auto& e) { return e.first == c; });
    if (found == by.end()) {
      result += c;
    } else {
      result += found->second;
    }
  }
  return result;
}

std::string markdown_table(const TextTable& table) {
  const auto line = [](const std::vector<std::string>& words) {
    std::string text = "|";
    for (const std::string& word : words) {
      text += ' ';
      text += replaced(word, {{'|', "\\|"}, {'\n', " "}});
      text += " |";
    }
    return text + "\n";
  };
  std::string text = line(table.head) + "|";
  for (size_t i = 0; i < table.head.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string format_metric(const std::string& metric, double value) {
  if (std::isnan(value)) return "-";
  return metric_is_share(metric) ? format_number("%.2f", 100 * value)
                                 : format_number("%.4g", value);
}

}  // namespace kith
