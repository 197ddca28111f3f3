#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace kith {

/// "3.4 MB"
std::string bytes_text(int64_t bytes);

/// "1@1 97.3%, 10@10 95.8%"
std::string recall_text(const std::map<std::string, double>& recall);

/// JSON for people and programs; bytes of paths that are not UTF-8 become
/// U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace kith
