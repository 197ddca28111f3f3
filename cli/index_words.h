#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kith/index/index_info.h"

namespace kith {

/// "3.4 MB"
std::string bytes_text(int64_t bytes);

/// "1@1 97.3%, 10@10 95.8%"
std::string recall_text(const std::map<std::string, double>& recall);

/// "threshold 0.5123 (far=0.001, picked on the validation split)"
std::string threshold_text(const IndexThreshold& threshold);

}  // namespace kith
