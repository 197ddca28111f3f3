#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kith/serve/target.h"

namespace kith {

enum class RouteKind {
  kPage,
  kAsset,
  kHealth,
  kMetrics,
  kInfo,
  kClasses,
  kSearch,
  kItem,
  kAnyItem,
  kSimilar,
  kPicture,
};

struct Route {
  RouteKind kind;
  const char* name;    ///< In metrics.
  const char* method;  ///< GET or POST
  bool is_open;        ///< No token is needed.
  std::vector<std::string_view> parameters;
};

struct RouteMatch {
  const Route* route = nullptr;
  int64_t position = -1;  ///< Of /api/items/POSITION
};

/// The route of a path; nothing if there is none. A position is digits only.
std::optional<RouteMatch> match_route(const std::vector<std::string>& path);

/// A whole number of digits only.
std::optional<int64_t> parse_count(std::string_view text);

}  // namespace kith
