#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace kith {

/// What tells a file from the one that was there before: replacing it makes
/// another inode, writing to it another time or size.
struct FileMark {
  uint64_t device = 0;
  uint64_t inode = 0;  ///< 0: there is none.
  int64_t bytes = 0;
  int64_t nanoseconds = 0;  ///< When it was last written.

  auto operator<=>(const FileMark&) const = default;
};

FileMark file_mark(const std::string& path);

}  // namespace kith
