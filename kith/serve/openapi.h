#pragma once

#include <nlohmann/json_fwd.hpp>

namespace kith {

/// The description of all_routes() in the form of OpenAPI 3.1.
const nlohmann::ordered_json& openapi_description();

}  // namespace kith
