#include "kith/core/json_text.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/quote.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// The same tree with every text as UTF-8.
Json valid(const Json& json) {
  if (json.is_string()) return as_utf8(json.get_ref<const std::string&>());
  if (json.is_array()) {
    Json array = Json::array();
    for (const Json& item : json) array.push_back(valid(item));
    return array;
  }
  if (!json.is_object()) return json;
  Json::object_t object;
  // The vector that it is: operator[] would look at all keys for each.
  std::vector<Json::object_t::value_type>& entries = object;
  for (const auto& [key, value] : json.items()) {
    entries.emplace_back(as_utf8(key), valid(value));
  }
  return object;
}

/// JSON escapes control characters, but for DEL, those above it and those that
/// turn the direction of writing, which a terminal obeys too. They are in
/// texts only.
std::string without_controls(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text.substr(i, 4)), 1);
    const std::string character = text.substr(i, length);
    const bool is_plain =
        character == "\n" || printable(character) == character;
    out += is_plain ? character : Json(character).dump(-1, ' ', true).substr(1);
    if (!is_plain) out.pop_back();  // the quotes
    i += length;
  }
  return out;
}

}  // namespace

std::string json_text(const Json& json, int indent) {
  std::string text;
  try {
    text = json.dump(indent);
  } catch (const Json::type_error&) {  // of a text that is not UTF-8
    text = valid(json).dump(indent);
  }
  return printable_lines(text) == text ? text : without_controls(text);
}

void set_path(Json& object, const std::string& key, std::string_view path) {
  object[key] = as_utf8(path);
  if (is_utf8(path)) return;
  constexpr char kHex[] = "0123456789abcdef";
  std::string digits;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    digits += {kHex[byte >> 4], kHex[byte & 15]};
  }
  object[key + "_bytes"] = digits;
}

std::string get_path(const Json& object, const std::string& key) {
  const auto found = object.find(key + "_bytes");
  if (found == object.end()) return object.at(key).get<std::string>();
  const auto& digits = found->get_ref<const std::string&>();
  std::string path;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    path += static_cast<char>(byte);
  }
  return path;
}

}  // namespace kith
