#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith {

/// MATLAB 5 files written byte by byte, independent of kith's reader. Bytes are
/// held in strings. A value is the bytes of one array element; inside cells and
/// structs its name is empty.

/// A piece of data with its tag: the short form up to 4 bytes if `small`.
std::string mat_element(uint32_t type, const std::string& data,
                        bool small = true);

/// An array of class `array_class` with these contents after its name.
std::string mat_array(uint32_t array_class, const std::vector<int32_t>& shape,
                      const std::string& name, const std::string& contents);

/// A 1 x 1 double stored as uint16, as MATLAB does with small whole numbers.
std::string mat_number(uint16_t value, const std::string& name = "");
/// A 1 x n text in UTF-16 (characters of Latin-1 only).
std::string mat_text(const std::string& text, const std::string& name = "");
/// A 1 x n cell array.
std::string mat_cells(const std::vector<std::string>& values,
                      const std::string& name = "");
/// A 1 x n struct array; values of the first element, of the second, ...
std::string mat_structs(const std::vector<std::string>& fields,
                        const std::vector<std::string>& values,
                        const std::string& name = "");

/// A file of these variables, each in a compressed element if so wished.
std::string mat_file(const std::vector<std::string>& variables,
                     bool compressed = false);

}  // namespace kith
