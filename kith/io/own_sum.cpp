#include "kith/io/own_sum.h"

#include <cstdio>

#include "kith/core/error.h"
#include "kith/io/crc32c.h"

namespace kith {
namespace {

/// Where the digits are; npos if there is no mark.
size_t find_digits(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == text.npos || text.size() - at - mark.size() < kNoSum.size()) {
    return text.npos;
  }
  return at + mark.size();
}

std::string own_sum(std::string_view text, size_t digits) {
  uint32_t sum = crc32c(text.substr(0, digits));
  sum = crc32c(kNoSum, sum);
  return sum_text(crc32c(text.substr(digits + kNoSum.size()), sum));
}

}  // namespace

std::string sum_text(uint32_t sum) {
  char text[kNoSum.size() + 1];
  std::snprintf(text, sizeof text, "%08x", sum);
  return text;
}

void put_own_sum(std::string& text, std::string_view mark) {
  const size_t digits = find_digits(text, mark);
  KITH_ASSERT(digits != text.npos);
  text.replace(digits, kNoSum.size(), own_sum(text, digits));
}

bool own_sum_fits(std::string_view text, std::string_view mark) {
  const size_t digits = find_digits(text, mark);
  return digits == text.npos ||
         text.substr(digits, kNoSum.size()) == own_sum(text, digits);
}

}  // namespace kith
