#pragma once

#include <string>
#include <vector>

namespace kith {

struct ShareRow {
  std::string name;            ///< May be empty if it is the only row.
  std::vector<double> values;  ///< One per part; not plottable or < 0: none.
};

/// What wholes consist of: a bar for each, cut into its parts.
struct ShareBars {
  std::string title;
  std::string unit;  ///< Of the values, shown under the pointer.
  std::vector<std::string> parts;
  std::vector<ShareRow> rows;
};

/// An SVG element as line_chart() makes it, as high as it has rows. All bars
/// have the same length, with the percentage below each part that is wide
/// enough. A row without values says "no data".
std::string share_bars(const ShareBars& chart);

}  // namespace kith
