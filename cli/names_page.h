#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace kith {

/// What other libraries call kith's parts, for people; `name` is one of theirs
/// or of kith's, or empty for all. ConfigError if nobody uses it.
void print_names(const std::string& name);

/// The same for programs.
nlohmann::ordered_json names_json(const std::string& name);

/// docs/names.md, in Markdown.
std::string names_page();

}  // namespace kith
