#include "kith/serve/route_table.h"

#include <algorithm>
#include <charconv>

namespace kith {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (path.size() > 1) {
    path.remove_prefix(1);  // the slash
    const std::string_view part = path.substr(0, path.find('/'));
    parts.push_back(part);
    path.remove_prefix(part.size());
  }
  return parts;
}

/// A route with the parts of its path.
struct RoutePattern {
  const Route* route;
  std::vector<std::string_view> parts;
};

const std::vector<RoutePattern>& all_patterns() {
  static const std::vector<RoutePattern> patterns = [] {
    std::vector<RoutePattern> made;
    for (const Route& route : all_routes()) {
      made.push_back({&route, parts_of(route.path)});
    }
    return made;
  }();
  return patterns;
}

/// Whether a path is of a pattern; then its position is read.
bool fits(const std::vector<std::string_view>& pattern,
          const std::vector<std::string>& path, int64_t& position) {
  if (pattern.size() != path.size()) return false;
  int64_t found = -1;
  for (size_t i = 0; i < path.size(); ++i) {
    if (pattern[i] == "{position}") {
      const std::optional<int64_t> number = parse_count(path[i]);
      if (!number) return false;
      found = *number;
    } else if (pattern[i] != "{file}" && pattern[i] != path[i]) {
      return false;
    }
  }
  position = found;
  return true;
}

}  // namespace

bool Route::takes(std::string_view parameter) const {
  return std::any_of(
      parameters.begin(), parameters.end(),
      [parameter](const RouteParameter& p) { return p.name == parameter; });
}

const std::vector<Route>& all_routes() {
  using Kind = RouteKind;
  using Access = RouteAccess;
  using Body = RouteBody;
  static const std::vector<Route> routes = {
      {.kind = Kind::kPage,
       .name = "page",
       .method = "GET",
       .path = "/",
       .summary = "The page for people",
       .access = Access::kOpen,
       .answers = {{200, "", "text/html; charset=utf-8"}}},
      {.kind = Kind::kAsset,
       .name = "asset",
       .method = "GET",
       .path = "/assets/{file}",
       .summary = "A file of the page",
       .access = Access::kOpen,
       .answers = {{200, "", "*/*"}}},
      {.kind = Kind::kHealth,
       .name = "health",
       .method = "GET",
       .path = "/health",
       .summary = "Whether the server answers",
       .access = Access::kOpen,
       .answers = {{200, "Health"}}},
      {.kind = Kind::kReady,
       .name = "ready",
       .method = "GET",
       .path = "/ready",
       .summary = "Whether the server can take searches; 503 if not",
       .access = Access::kOpen,
       .answers = {{200, "Ready"}}},
      {.kind = Kind::kMetrics,
       .name = "metrics",
       .method = "GET",
       .path = "/metrics",
       .summary = "Counts for Prometheus",
       .answers = {{200, "", "text/plain; version=0.0.4; charset=utf-8"}}},
      {.kind = Kind::kOpenApi,
       .name = "openapi",
       .method = "GET",
       .path = "/openapi.json",
       .summary = "This description",
       .access = Access::kOpen,
       .answers = {{200, "OpenApi"}}},
      {.kind = Kind::kIndexes,
       .name = "indexes",
       .method = "GET",
       .path = "/api/indexes",
       .summary = "The indexes that are served; the first one has the short "
                  "addresses",
       .answers = {{200, "Indexes"}},
       .of_server = true},
      {.kind = Kind::kInfo,
       .name = "info",
       .method = "GET",
       .path = "/api/info",
       .summary = "What is served, and what may be sent",
       .answers = {{200, "Info"}}},
      {.kind = Kind::kClasses,
       .name = "classes",
       .method = "GET",
       .path = "/api/classes",
       .summary = "The classes, with the number of their items",
       .answers = {{200, "Classes"}}},
      {.kind = Kind::kSearch,
       .name = "search",
       .method = "POST",
       .path = "/api/search",
       .summary = "The nearest items of a picture",
       .answers = {{200, "Results"}},
       .parameters = {{"k"}, {"label"}},
       .body = Body::kPicture},
      {.kind = Kind::kAnyItem,
       .name = "any_item",
       .method = "GET",
       .path = "/api/items/any",
       .summary = "A random item",
       .answers = {{200, "Item"}}},
      {.kind = Kind::kItem,
       .name = "item",
       .method = "GET",
       .path = "/api/items/{position}",
       .summary = "The item at a position",
       .answers = {{200, "Item"}}},
      {.kind = Kind::kSimilar,
       .name = "similar",
       .method = "GET",
       .path = "/api/items/{position}/similar",
       .summary = "The nearest items of an item, without itself",
       .answers = {{200, "Results"}},
       .parameters = {{"k"}, {"label"}}},
      {.kind = Kind::kPicture,
       .name = "image",
       .method = "GET",
       .path = "/api/items/{position}/image",
       .summary = "The picture of an item",
       .answers = {{200, "", "image/jpeg"}},
       .parameters = {{"size"}}},
      {.kind = Kind::kFindItem,
       .name = "find_item",
       .method = "GET",
       .path = "/api/items",
       .summary = "The item with an id",
       .answers = {{200, "Item"}},
       .parameters = {{"id", true}}},
      {.kind = Kind::kAddItems,
       .name = "add_items",
       .method = "POST",
       .path = "/api/items",
       .summary = "Adds pictures, all or none",
       .access = Access::kChange,
       .answers = {{201, "Items"}},
       .parameters = {{"id"}, {"label"}},
       .body = Body::kPictures},
      {.kind = Kind::kPutItem,
       .name = "put_item",
       .method = "PUT",
       .path = "/api/items",
       .summary = "Puts a picture in the place of the item with an id, or adds "
                  "it",
       .access = Access::kChange,
       .answers = {{200, "Item"}, {201, "Item"}},
       .parameters = {{"id", true}, {"label"}},
       .body = Body::kPicture},
      {.kind = Kind::kRemoveItem,
       .name = "remove_item",
       .method = "DELETE",
       .path = "/api/items",
       .summary = "Removes the item with an id",
       .access = Access::kChange,
       .answers = {{200, "Removed"}},
       .parameters = {{"id", true}}},
  };
  return routes;
}

std::optional<RouteMatch> match_route(const std::vector<std::string>& path,
                                      std::string_view method) {
  RouteMatch match;
  std::vector<std::string> plain = path;
  if (path.size() > 3 && path[0] == "api" && path[1] == "indexes") {
    if (path[2].empty()) return {};
    match.index = path[2];
    plain.erase(plain.begin() + 1, plain.begin() + 3);
  }
  match.has_method = false;
  std::string_view fitting;  // one path: /api/items/any is no {position}
  for (const auto& [route, pattern] : all_patterns()) {
    if (!fitting.empty() && fitting != route->path) continue;
    if (!match.index.empty() && !route->of_index()) continue;
    if (!fits(pattern, plain, match.position)) continue;
    fitting = route->path;
    match.allowed += (match.allowed.empty() ? "" : ", ") +
                     std::string(route->method) +
                     (route->method == "GET" ? ", HEAD" : "");
    if (match.route != nullptr && route->method != method) continue;
    match.route = route;
    match.has_method = route->method == method;
  }
  if (match.route == nullptr) return {};
  return match;
}

std::optional<int64_t> parse_count(std::string_view text) {
  // from_chars would take a minus sign.
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return {};
  return value;
}

}  // namespace kith
