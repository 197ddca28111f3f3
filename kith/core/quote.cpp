#include "kith/core/quote.h"

#include <algorithm>
#include <cstdint>

namespace kith {
namespace {

/// \xNN
void add_byte(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

/// \u{NNNN}
void add_code(std::string& out, uint32_t code) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u{";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[code >> shift & 15];
  out += '}';
}

/// The code of a well-formed character of up to three bytes; 0 for others,
/// none of which is of interest here.
uint32_t code_of(std::string_view character) {
  const auto at = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(character[i]));
  };
  if (character.size() == 1) return at(0);
  if (character.size() == 2) return (at(0) & 0x1f) << 6 | (at(1) & 0x3f);
  if (character.size() != 3) return 0;
  return (at(0) & 0x0f) << 12 | (at(1) & 0x3f) << 6 | (at(2) & 0x3f);
}

/// Marks, embeddings, overrides and isolates of direction, and the separators
/// of lines and paragraphs.
bool turns_text(uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const std::string_view character =
        text.substr(i, std::max<size_t>(length, 1));
    const uint32_t code = code_of(character);
    const bool is_control =
        code < 0x20 ? length == 1 : code >= 0x7f && code < 0xa0;
    if (length == 0 || (length == 1 && is_control)) {
      if (kept.find(character[0]) == std::string_view::npos) {
        add_byte(out, character[0]);
      } else {
        out += character[0];
      }
    } else if (is_control || turns_text(code)) {
      add_code(out, code);
    } else {
      out += character;
    }
    i += character.size();
  }
  return out;
}

}  // namespace

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 80;
  size_t end = std::min(text.size(), kLongest);
  // Not within a character.
  while (end < text.size() && end > kLongest - 4 &&
         (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return "'" + printable(text.substr(0, end)) +
         (end < text.size() ? "...'" : "'");
}

std::string printable(std::string_view text) { return escaped(text, ""); }

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](size_t i, unsigned lo = 0x80, unsigned hi = 0xbf) {
    return at(i) >= lo && at(i) <= hi;
  };
  if (text.empty()) return 0;
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    // Neither longer than need be nor a half of a pair of UTF-16.
    const unsigned lo = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned hi = lead == 0xed ? 0x9f : 0xbf;
    return follows(1, lo, hi) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned lo = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned hi = lead == 0xf4 ? 0x8f : 0xbf;
    return follows(1, lo, hi) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0 || text[0] == '\\') {
      add_byte(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace kith
