#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kith {

/// "3.4 MB"
std::string bytes_text(int64_t bytes);

/// "1@1 97.3%, 10@10 95.8%"
std::string recall_text(const std::map<std::string, double>& recall);

}  // namespace kith
