#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "kith/core/config.h"

namespace kith {

/// A configuration as JSON: text that reads as a number or a truth value
/// becomes one.
nlohmann::ordered_json config_json(const ConfigNode& node);

/// The way back. `where` is what errors call the place of every node.
ConfigNode config_of(const nlohmann::ordered_json& json,
                     const std::string& where);

}  // namespace kith
