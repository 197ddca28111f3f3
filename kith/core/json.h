#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kith {

/// The tree of a JSON text that may come from elsewhere; every file is read by
/// this. Objects keep the order of their keys.
///
/// Like ordered_json::parse, which looks through an object for each new key of
/// it and follows any depth, but time and memory grow with the text alone: some
/// 30 bytes for each of its own at most. Also unlike it, a key that an object
/// has twice is refused.
///
/// ordered_json::exception if the text is not JSON, is nested more than 64
/// deep, or has more than 16 million values.
nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace kith
