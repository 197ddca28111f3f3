#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kith {

/// The text of a JSON tree. Names come from files and need not be UTF-8, as
/// JSON must be: such a text is written as as_utf8() has it.
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

/// Sets object[key] to a path, or a name, by which something is to be found
/// again. One that is not UTF-8 has its bytes beside it, two hexadecimal digits
/// each: object[key + "_bytes"].
void set_path(nlohmann::ordered_json& object, const std::string& key,
              std::string_view path);

/// The path that set_path() set. ordered_json::exception if it is not there.
std::string get_path(const nlohmann::ordered_json& object,
                     const std::string& key);

}  // namespace kith
