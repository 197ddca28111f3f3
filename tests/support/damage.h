#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace kith {

/// A damaged copy of a file: one to four bytes changed, a piece removed or
/// repeated, or the end cut off. Only the engine is used, no distribution, so a
/// seed gives the same damage everywhere.
inline std::string damage(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](size_t n) {
    return static_cast<size_t>(random() % (n == 0 ? 1 : n));
  };
  switch (random() % 8) {
    case 0:
      bytes.resize(below(bytes.size()));
      break;
    case 1:
      bytes.erase(below(bytes.size()), 1 + below(16));
      break;
    case 2: {
      const std::string piece =
          bytes.substr(below(bytes.size()), 1 + below(16));
      bytes.insert(below(bytes.size()), piece);
      break;
    }
    default:
      for (uint64_t i = 1 + random() % 4; i > 0 && !bytes.empty(); --i) {
        bytes[below(bytes.size())] = static_cast<char>(random() % 256);
      }
  }
  return bytes;
}

}  // namespace kith
