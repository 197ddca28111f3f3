#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kith {

// A text can hold the CRC-32C of itself: eight hexadecimal digits behind a
// mark, which count as zeros. The mark is what precedes them, such as
// `"crc32c":"`.

inline constexpr std::string_view kNoSum = "00000000";

/// Eight hexadecimal digits.
std::string sum_text(uint32_t sum);

/// Puts the sum in place of the zeros behind the mark, which must be there.
void put_own_sum(std::string& text, std::string_view mark);

/// Whether a text is what it was when its sum was put there. A text without the
/// mark has none to differ from.
bool own_sum_fits(std::string_view text, std::string_view mark);

}  // namespace kith
