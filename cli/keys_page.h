#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kith/study/config_keys.h"

namespace kith {

/// Every key of a configuration for people, a line a key; `below` is a section
/// or a key ("train", "train.epochs"), or empty for all. ConfigError if there
/// is no such key.
void print_keys(const std::string& below);

/// The same for programs.
nlohmann::ordered_json keys_json(const std::string& below);

/// docs/configuration_keys.md, in Markdown.
std::string keys_page();

}  // namespace kith
