#include "kith/study/text_table.h"

#include <algorithm>

#include "kith/core/number_text.h"
#include "kith/study/results.h"

namespace kith {
namespace {

std::string latex_row(const std::vector<std::string>& words) {
  std::string line;
  for (size_t i = 0; i < words.size(); ++i) {
    line += (i > 0 ? " & " : "") + words[i];
  }
  return line + " \\\\\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string field = replaced(text, {{'"', "\"\""}});
  field.insert(field.begin(), '"');
  field.push_back('"');
  return field;
}

std::string csv_row(const std::vector<std::string>& words) {
  std::string line;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) line += ',';
    line += csv_field(words[i]);
  }
  return line + "\n";
}

}  // namespace

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

std::string latex_text(const std::string& text) {
  return replaced(text, {{'&', "\\&"},
                         {'%', "\\%"},
                         {'$', "\\$"},
                         {'#', "\\#"},
                         {'_', "\\_"},
                         {'{', "\\{"},
                         {'}', "\\}"},
                         {'~', "\\textasciitilde{}"},
                         {'^', "\\textasciicircum{}"},
                         {'\\', "\\textbackslash{}"},
                         {'\n', " "}});
}

std::string latex_table(const TextTable& table, size_t left) {
  std::string text = "% needs \\usepackage{booktabs}\n\\begin{tabular}{" +
                     std::string(left, 'l') +
                     std::string(table.head.size() - left, 'r') +
                     "}\n\\toprule\n" + latex_row(table.head) + "\\midrule\n";
  for (const auto& row : table.rows) text += latex_row(row);
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string csv_table(const TextTable& table) {
  std::string text = csv_row(table.head);
  for (const auto& row : table.rows) text += csv_row(row);
  return text;
}

std::string format_metric(const std::string& metric, double value) {
  return metric_text(value, metric_is_share(metric), kTableStyle);
}

}  // namespace kith
