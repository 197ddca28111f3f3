#pragma once

#include <string>
#include <vector>

namespace kith {

/// A matrix of numbers from -1 to 1, such as correlations and similarities.
struct HeatMap {
  std::string title;
  std::string note;  ///< A line below the title; may be empty.
  /// Names of rows and columns. Without them the matrix is a picture alone,
  /// and `x_label` and `y_label` say what columns and rows are.
  std::vector<std::string> names;
  std::string x_label;
  std::string y_label;
  size_t size = 0;             ///< Rows and columns.
  std::vector<double> values;  ///< [size * size], by rows; NaN: not defined.
};

/// An SVG element as line_chart() makes it: one colour for positive numbers,
/// another for negative ones, the stronger the farther from zero. Cells that
/// are large enough have their number. Numbers beyond -1 and 1 are drawn as
/// these.
std::string heat_map(const HeatMap& map);

}  // namespace kith
