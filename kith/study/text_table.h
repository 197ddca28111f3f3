#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace kith {

/// A table of text.
struct TextTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

std::string markdown_table(const TextTable& table);

/// A tabular with the rules of the package booktabs, of words that are LaTeX
/// already (see latex_text()). The first `left` columns are flush left, the
/// others flush right.
std::string latex_table(const TextTable& table, size_t left);

/// Text for LaTeX, with its special characters escaped.
std::string latex_text(const std::string& text);

/// A line a row, fields with commas, quotes or line ends in quotes.
std::string csv_table(const TextTable& table);

/// A value of a metric: shares in percent with two digits, other numbers with
/// four significant ones; "-" for NaN.
std::string format_metric(const std::string& metric, double value);

/// The text with some of its characters replaced.
std::string replaced(const std::string& text,
                     const std::vector<std::pair<char, const char*>>& by);

}  // namespace kith
