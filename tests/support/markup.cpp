#include "tests/support/markup.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace kith {
namespace {

constexpr std::array<std::string_view, 5> kVoid = {"meta", "img", "wbr", "br",
                                                   "hr"};

std::string fault(const std::string& what, std::string_view markup, size_t at) {
  return what + " at " + std::to_string(at) + ": " +
         std::string(markup.substr(at, 60));
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == ':';
}

bool is_void(std::string_view name) {
  for (const std::string_view known : kVoid) {
    if (name == known) return true;
  }
  return false;
}

// An ampersand has to begin an entity.
bool text_is_clean(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') return false;
    if (text[i] != '&') continue;
    const size_t end = text.find(';', i);
    if (end == std::string_view::npos || end - i > 6) return false;
  }
  return true;
}

// The inside of a tag after its name: name="value" pairs and nothing else.
bool attributes_are_clean(std::string_view inside) {
  size_t i = 0;
  while (true) {
    while (i < inside.size() && std::isspace(int(inside[i]))) ++i;
    if (i == inside.size()) return true;
    const size_t name = i;
    while (i < inside.size() && is_name_char(inside[i])) ++i;
    if (i == name || inside.substr(i, 2) != "=\"") return false;
    const size_t end = inside.find('"', i + 2);
    if (end == std::string_view::npos) return false;
    if (!text_is_clean(inside.substr(i + 2, end - i - 2))) return false;
    i = end + 1;
  }
}

size_t tag_end(std::string_view markup, size_t at) {
  bool quoted = false;
  for (; at < markup.size(); ++at) {
    if (markup[at] == '"') quoted = !quoted;
    if (markup[at] == '>' && !quoted) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string markup_fault(std::string_view markup) {
  std::vector<std::string_view> open;
  size_t at = 0;
  while (at < markup.size()) {
    const size_t next = std::min(markup.find('<', at), markup.size());
    if (!text_is_clean(markup.substr(at, next - at))) {
      return fault("unescaped text", markup, at);
    }
    if (next == markup.size()) break;
    const size_t end = tag_end(markup, next);
    if (end == std::string_view::npos) return fault("no '>'", markup, next);
    std::string_view inside = markup.substr(next + 1, end - next - 1);
    at = end + 1;
    if (inside.starts_with("!DOCTYPE")) continue;
    if (inside.starts_with('/')) {
      if (open.empty() || open.back() != inside.substr(1)) {
        return fault("unexpected end tag", markup, next);
      }
      open.pop_back();
      continue;
    }
    const bool closed = inside.ends_with('/');
    if (closed) inside.remove_suffix(1);
    size_t length = 0;
    while (length < inside.size() && is_name_char(inside[length])) ++length;
    const std::string_view name = inside.substr(0, length);
    if (name.empty() || !attributes_are_clean(inside.substr(length))) {
      return fault("bad tag", markup, next);
    }
    if (!closed && !is_void(name)) open.push_back(name);
    if (name == "style" || name == "script") {
      const std::string last = "</" + std::string(name) + ">";
      at = std::min(markup.find(last, at), markup.size());
    }
  }
  return open.empty() ? "" : "not closed: " + std::string(open.back());
}

int count_of(std::string_view text, std::string_view needle) {
  int count = 0;
  for (size_t at = text.find(needle); at != std::string_view::npos;
       at = text.find(needle, at + needle.size())) {
    ++count;
  }
  return count;
}

}  // namespace kith
