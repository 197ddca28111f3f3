#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith {

/// An image of a data set that cannot be read.
struct BrokenImage {
  int64_t position = 0;  ///< In the list, before any image was left out.
  std::string path;
  std::string problem;  ///< Names the path too.
};

/// Writes images that were left out, or would be: CSV with the columns
/// position, path and problem, atomically.
void write_left_out(const std::string& file,
                    const std::vector<BrokenImage>& images);

/// Reads it again. DataError with file and line if it is no such list.
std::vector<BrokenImage> read_left_out(const std::string& file);

/// "3 images that cannot be read: a.png, b.png, c.png": the first five.
std::string left_out_text(const std::vector<BrokenImage>& images);

}  // namespace kith
