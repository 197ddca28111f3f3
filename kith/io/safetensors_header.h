#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kith/io/safetensors.h"

namespace kith::detail {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

/// "F32" for kF32.
std::string_view safetensors_dtype(DType dtype);

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< Sorted by begin.
  std::map<std::string, std::string> metadata;
};

/// Parses and checks the JSON header against the `data_size` bytes that follow
/// it. DataError "path: ..." for anything wrong. Needs memory in proportion to
/// the text only, however it nests.
SafetensorsHeader parse_safetensors_header(std::string_view text,
                                           uint64_t data_size,
                                           const std::string& path);

}  // namespace kith::detail
