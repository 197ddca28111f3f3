#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// What a request asks for, with %xx decoded.
struct Target {
  std::vector<std::string> path;             ///< "/api/items": api, items.
  std::map<std::string, std::string> query;  ///< "?k=5&label=a"; + is a space.
};

/// Nothing if the text does not start with a slash, has an escape that is none,
/// a control character, a part "." or "..", a slash or backslash within a
/// part, or a parameter twice.
std::optional<Target> parse_target(std::string_view text);

}  // namespace kith
