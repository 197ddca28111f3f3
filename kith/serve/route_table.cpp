#include "kith/serve/route_table.h"

#include <algorithm>
#include <charconv>

namespace kith {
namespace {

const Route& route_of(RouteKind kind) {
  static const std::vector<Route> routes = {
      {RouteKind::kPage, "page", "GET", true, {}},
      {RouteKind::kAsset, "asset", "GET", true, {}},
      {RouteKind::kHealth, "health", "GET", true, {}},
      {RouteKind::kMetrics, "metrics", "GET", false, {}},
      {RouteKind::kInfo, "info", "GET", false, {}},
      {RouteKind::kClasses, "classes", "GET", false, {}},
      {RouteKind::kSearch, "search", "POST", false, {"k", "label"}},
      {RouteKind::kItem, "item", "GET", false, {}},
      {RouteKind::kAnyItem, "any_item", "GET", false, {}},
      {RouteKind::kSimilar, "similar", "GET", false, {"k", "label"}},
      {RouteKind::kPicture, "image", "GET", false, {"size"}},
  };
  return *std::find_if(routes.begin(), routes.end(),
                       [kind](const Route& r) { return r.kind == kind; });
}

std::optional<RouteKind> plain_kind(const std::vector<std::string>& path) {
  const auto is = [&path](std::vector<std::string> parts) {
    return path == parts;
  };
  if (path.empty()) return RouteKind::kPage;
  if (path.size() == 2 && path[0] == "assets") return RouteKind::kAsset;
  if (is({"health"})) return RouteKind::kHealth;
  if (is({"metrics"})) return RouteKind::kMetrics;
  if (is({"api", "info"})) return RouteKind::kInfo;
  if (is({"api", "classes"})) return RouteKind::kClasses;
  if (is({"api", "search"})) return RouteKind::kSearch;
  if (is({"api", "items", "any"})) return RouteKind::kAnyItem;
  return {};
}

std::optional<RouteKind> item_kind(const std::vector<std::string>& path) {
  if (path.size() == 3) return RouteKind::kItem;
  if (path.size() != 4) return {};
  if (path[3] == "similar") return RouteKind::kSimilar;
  if (path[3] == "image") return RouteKind::kPicture;
  return {};
}

}  // namespace

std::optional<RouteMatch> match_route(const std::vector<std::string>& path) {
  if (const auto kind = plain_kind(path)) {
    return RouteMatch{&route_of(*kind), -1};
  }
  if (path.size() < 3 || path[0] != "api" || path[1] != "items") return {};
  const std::optional<int64_t> position = parse_count(path[2]);
  const std::optional<RouteKind> kind = item_kind(path);
  if (!position || !kind) return {};
  return RouteMatch{&route_of(*kind), *position};
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
