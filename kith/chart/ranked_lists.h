#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kith {

/// What a search found.
struct RankedItem {
  double similarity = 0.0;
  bool positive = false;
  bool changed = false;  ///< Against the first list: underlined.
};

struct RankedList {
  std::vector<RankedItem> items;     ///< In any order; drawn nearest first.
  std::vector<std::string> figures;  ///< At the right, one per column.
};

/// Searches below each other: where positives stand, and what that counts.
struct RankedLists {
  std::string title;
  std::string note;  ///< A line below the title; may be empty.
  std::vector<std::string> columns;
  std::vector<RankedList> lists;
  size_t cut = 0;  ///< Items before a dashed line; 0: no line.
};

/// An SVG element as line_chart() makes it.
std::string ranked_lists(const RankedLists& picture);

}  // namespace kith
