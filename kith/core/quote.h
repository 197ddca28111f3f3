#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kith {

/// 'text' for a message: printable, one line, and cut after 80 bytes.
std::string quote(std::string_view text);

/// Text from files and users as a terminal may get it, in one line. Control
/// characters (an escape sequence begins with one), characters that turn the
/// direction of writing and bytes that are not UTF-8 become \xNN or \u{NNNN}.
std::string printable(std::string_view text);

/// The same for a text of several lines: these stay, and so do tabs.
std::string printable_lines(std::string_view text);

/// Bytes of the well-formed UTF-8 character at the front of a text, else 0.
size_t utf8_length(std::string_view text);

/// Whether a text is UTF-8 throughout.
bool is_utf8(std::string_view text);

/// A text that is UTF-8 as it is. In any other, bytes that are not become \xNN
/// and backslashes \x5c, so that it tells the bytes it stands for.
std::string as_utf8(std::string_view text);

}  // namespace kith
