#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// A pattern of names with dots, such as those of a network's parameters: `*`
/// stands for any characters, dots among them, and `?` for one. A pattern also
/// means everything below what it names: "backbone.layer1" is
/// "backbone.layer1.*" too.
bool fits_pattern(std::string_view pattern, std::string_view name);

/// Those of `names` that fit one of the patterns, in their order. ConfigError
/// that names `key` and the nearest names for a pattern that fits none; `what`
/// the names are of, for that: "parameter of the network".
std::vector<std::string> names_that_fit(
    const std::string& key, const std::string& what,
    const std::vector<std::string>& patterns,
    const std::vector<std::string>& names);

/// How many characters must be changed, added or taken away to make one of the
/// other (Levenshtein, 1966).
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace kith
