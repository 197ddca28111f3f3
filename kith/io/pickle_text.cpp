#include "kith/io/pickle_text.h"

#include <charconv>
#include <cstring>
#include <system_error>

namespace kith::detail {
namespace {

template <typename T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// The hexadecimal number of the first `digits` characters.
std::optional<uint32_t> hex_value(std::string_view text, size_t digits) {
  uint32_t value = 0;
  if (text.size() < digits) return std::nullopt;
  const char* const end = text.data() + digits;
  const auto result = std::from_chars(text.data(), end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// U+10FFFF is the last character.
bool append_utf8(std::string& out, uint32_t code) {
  constexpr uint32_t kLast = 0x10ffff;
  const auto tail = [](uint32_t bits) {
    return static_cast<char>(0x80 | (bits & 0x3f));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += tail(code);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    (out += tail(code >> 6)) += tail(code);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    ((out += tail(code >> 12)) += tail(code >> 6)) += tail(code);
  }
  return code <= kLast;
}

}  // namespace

std::optional<int64_t> long_value(std::string_view bytes) {
  if (bytes.size() > sizeof(int64_t)) return std::nullopt;
  const bool negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
  int64_t value = negative ? -1 : 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

std::optional<int64_t> decimal_value(std::string_view line) {
  if (line.ends_with('L')) line.remove_suffix(1);
  return whole<int64_t>(line);
}

std::optional<double> real_value(std::string_view line) {
  return whole<double>(line);
}

std::optional<std::string> unquote(std::string_view line) {
  if (line.size() < 2 || line.front() != line.back() ||
      (line.front() != '\'' && line.front() != '"')) {
    return std::nullopt;
  }
  const std::string_view text = line.substr(1, line.size() - 2);
  constexpr std::string_view kEscapes = "\\'\"nrtabfv";
  constexpr std::string_view kMeanings = "\\'\"\n\r\t\a\b\f\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == 'x') {
      const auto code = hex_value(text.substr(i + 1), 2);
      if (!code) return std::nullopt;
      out += static_cast<char>(*code);
      i += 2;
    } else if (const size_t at = kEscapes.find(text[i]);
               at != std::string_view::npos) {
      out += kMeanings[at];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::string> unescape_unicode(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_escape = line[i] == '\\' && i + 1 < line.size() &&
                           (line[i + 1] == 'u' || line[i + 1] == 'U');
    if (!is_escape) {
      append_utf8(out, static_cast<uint8_t>(line[i]));
      continue;
    }
    const size_t digits = line[i + 1] == 'u' ? 4 : 8;
    const auto code = hex_value(line.substr(i + 2), digits);
    if (!code || !append_utf8(out, *code)) return std::nullopt;
    i += 1 + digits;
  }
  return out;
}

std::optional<std::string> latin1_of_utf8(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<uint8_t>(text[i]);
    if (first < 0x80) {
      out += text[i];
      continue;
    }
    // U+0080 to U+00FF have two bytes: 110000xx 10xxxxxx.
    if ((first & 0xfc) != 0xc0 || i + 1 == text.size()) return std::nullopt;
    const auto second = static_cast<uint8_t>(text[++i]);
    if ((second & 0xc0) != 0x80) return std::nullopt;
    out += static_cast<char>(((first & 3) << 6) | (second & 0x3f));
  }
  return out;
}

}  // namespace kith::detail
