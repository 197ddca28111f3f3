#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kith/serve/target.h"

namespace kith {

enum class RouteKind {
  kPage,
  kAsset,
  kHealth,
  kReady,
  kMetrics,
  kOpenApi,
  kIndexes,
  kInfo,
  kClasses,
  kSearch,
  kAnyItem,
  kItem,
  kSimilar,
  kPicture,
  kFindItem,
  kAddItems,
  kPutItem,
  kRemoveItem,
};

/// Who may use a route.
enum class RouteAccess {
  kOpen,    ///< Everybody.
  kToken,   ///< Who has the token, if there is one.
  kChange,  ///< The same, if the server allows changes.
};

/// What a request brings.
enum class RouteBody { kNone, kPicture, kPictures };

struct RouteParameter {
  std::string_view name;
  bool is_needed = false;
};

/// What a route answers if all is well.
struct RouteAnswer {
  int status = 200;
  std::string_view schema = {};  ///< Of JSON, by its name in /openapi.json.
  std::string_view type = "application/json";
};

/// An address with a method. The table of all is what requests are matched
/// with and what /openapi.json is made of.
struct Route {
  RouteKind kind;
  const char* name;  ///< In metrics.
  std::string_view method;
  /// "/api/items/{position}". Under /api/ the same is at /api/indexes/{index}/
  /// for one of several indexes, unless `of_server`.
  std::string_view path;
  std::string_view summary;
  RouteAccess access = RouteAccess::kToken;
  std::vector<RouteAnswer> answers = {};
  std::vector<RouteParameter> parameters = {};  ///< Of the query.
  RouteBody body = RouteBody::kNone;
  bool of_server = false;

  bool of_index() const { return path.starts_with("/api/") && !of_server; }
  bool takes(std::string_view parameter) const;
};

const std::vector<Route>& all_routes();

struct RouteMatch {
  const Route* route = nullptr;
  bool has_method = true;  ///< Else the path has only routes of others.
  std::string allowed;     ///< Methods of the path: "GET, HEAD, POST".
  int64_t position = -1;   ///< {position}
  std::string index;       ///< {index}; empty: the first.
};

/// The route of a path; nothing if there is none. A position is digits only.
std::optional<RouteMatch> match_route(const std::vector<std::string>& path,
                                      std::string_view method);

/// A whole number of digits only.
std::optional<int64_t> parse_count(std::string_view text);

}  // namespace kith
