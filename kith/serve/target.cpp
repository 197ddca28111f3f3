#include "kith/serve/target.h"

#include <algorithm>
#include <charconv>

namespace kith {
namespace {

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) c = ' ';
    if (text[i] == '%') {
      unsigned value = 0;
      const char* end = text.data() + std::min(i + 3, text.size());
      const auto [stop, error] =
          std::from_chars(text.data() + i + 1, end, value, 16);
      if (error != std::errc() || stop != text.data() + i + 3) return {};
      c = static_cast<char>(static_cast<unsigned char>(value));
      i += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return {};
    decoded += c;
  }
  return decoded;
}

/// What is before the next separator, which is taken out with it.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool read_path(std::string_view text, std::vector<std::string>& path) {
  if (!text.starts_with('/')) return false;
  if (text == "/") return true;
  while (!text.empty()) {
    text.remove_prefix(1);  // the slash
    const std::string_view raw = text.substr(0, text.find('/'));
    text.remove_prefix(raw.size());
    const std::optional<std::string> part = decode(raw, false);
    if (!part || *part == "." || *part == ".." ||
        part->find_first_of("/\\") != std::string::npos) {
      return false;
    }
    path.push_back(*part);
  }
  return true;
}

bool read_query(std::string_view text,
                std::map<std::string, std::string>& query) {
  while (!text.empty()) {
    std::string_view value = take(text, '&');
    if (value.empty()) continue;
    const std::optional<std::string> name = decode(take(value, '='), true);
    const std::optional<std::string> decoded = decode(value, true);
    if (!name || !decoded || !query.emplace(*name, *decoded).second) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  const std::string_view path = take(text, '?');
  if (!read_path(path, target.path) || !read_query(text, target.query)) {
    return {};
  }
  return target;
}

}  // namespace kith
