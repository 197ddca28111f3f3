#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kith::detail {

/// How pickles write numbers and strings. Each returns nothing for text that
/// is not of its kind.

/// Two's complement, little endian; nothing if it does not fit in 64 bits.
std::optional<int64_t> long_value(std::string_view bytes);

/// "12", or "12L" as Python 2 wrote a long.
std::optional<int64_t> decimal_value(std::string_view line);
std::optional<double> real_value(std::string_view line);

/// 'it\'s\n' with its quotes and escapes, as Python's repr() writes bytes.
std::optional<std::string> unquote(std::string_view line);

/// Latin-1 with \uXXXX and \UXXXXXXXX for the rest, as UTF-8.
std::optional<std::string> unescape_unicode(std::string_view line);

/// One byte for each character of UTF-8 text; nothing if one is over U+00FF.
std::optional<std::string> latin1_of_utf8(std::string_view text);

}  // namespace kith::detail
