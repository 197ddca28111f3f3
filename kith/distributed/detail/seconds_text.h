#pragma once

#include <chrono>
#include <string>

namespace kith {

/// "1.5 s", "60 s".
inline std::string seconds_text(std::chrono::milliseconds time) {
  const std::string text =
      std::to_string(static_cast<double>(time.count()) / 1000);
  const size_t last = text.find_last_not_of('0');
  return text.substr(0, text[last] == '.' ? last : last + 1) + " s";
}

}  // namespace kith
