#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// A MATLAB value in memory. Arrays are in MATLAB's order: the first index
/// runs fastest.
struct MatValue {
  enum class Kind { kNumbers, kText, kCell, kStruct };

  Kind kind = Kind::kNumbers;
  std::vector<int64_t> shape;
  std::vector<double> numbers;  ///< kNumbers, whatever the type in the file.
  std::string text;             ///< kText, as UTF-8.
  std::vector<std::string> fields;  ///< kStruct: names, in the file's order.
  /// kCell: the cells. kStruct: the fields of the first element, then those of
  /// the second, ...
  std::vector<MatValue> values;

  /// Elements of a cell or struct array.
  size_t count() const;

  /// A field of an element of a struct array, or null if there is none.
  const MatValue* field(size_t element, std::string_view name) const;
};

/// What a file may cost, checked before memory is taken.
struct MatLimits {
  /// Of the file, and of all inflated, which is also at most 100 times the
  /// file.
  uint64_t max_bytes = uint64_t{256} << 20;
  uint64_t max_numbers = uint64_t{32} << 20;
  uint64_t max_values = uint64_t{2} << 20;  ///< Arrays, cells and fields.
};

/// The variables of these names in a MATLAB 5 file (what MATLAB saves with -v6
/// and -v7): little endian, compressed or not; real numbers, text, cell and
/// struct arrays. A name that is not in the file is not in the map; variables
/// of other names are not looked at.
///
/// DataError naming the file if it is of another kind or version, truncated,
/// corrupt, beyond the limits, or if a wanted variable is of another class.
std::map<std::string, MatValue> read_mat(const std::string& path,
                                         const std::vector<std::string>& names,
                                         const MatLimits& limits = {});

/// The same from memory; `name` stands for the path in messages.
std::map<std::string, MatValue> parse_mat(std::string_view bytes,
                                          const std::string& name,
                                          const std::vector<std::string>& names,
                                          const MatLimits& limits = {});

}  // namespace kith
