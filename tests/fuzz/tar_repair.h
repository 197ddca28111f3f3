#pragma once

#include <cstdio>
#include <string>

namespace kith {

/// The sum of every block that looks like a header.
inline std::string repair_tar(std::string bytes) {
  for (size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (bytes.compare(at + 257, 5, "ustar") != 0) continue;
    bytes.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < 512; ++i) {
      sum += static_cast<unsigned char>(bytes[at + i]);
    }
    char text[8] = {};
    std::snprintf(text, sizeof text, "%06o", sum);
    bytes.replace(at + 148, 7, text, 7);
  }
  return bytes;
}

}  // namespace kith
