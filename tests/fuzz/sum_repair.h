#pragma once

#include <string>
#include <string_view>

#include "kith/io/file_sums.h"

namespace kith {

/// A text with its own sum behind the mark, where it has one.
inline std::string with_own_sum(std::string text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == text.npos || text.size() - at < mark.size() + kSumDigits) {
    return text;
  }
  put_own_sum(text, mark);
  return text;
}

}  // namespace kith
