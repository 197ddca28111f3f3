#include "kith/serve/call.h"

#include <algorithm>
#include <utility>

#include "kith/core/quote.h"
#include "kith/serve/access.h"

namespace kith {
namespace {

constexpr int64_t kUsualNeighbours = 12;
constexpr int64_t kUsualSide = 512;
constexpr int64_t kSmallestSide = 16;
constexpr int64_t kLargestSide = 2048;

bool is_picture_type(std::string_view content_type) {
  const auto starts_with = [content_type](std::string_view start) {
    return same_letters(content_type.substr(0, start.size()), start);
  };
  return content_type.empty() || starts_with("image/") ||
         starts_with("application/octet-stream");
}

HttpResponse wrong_type(const std::string& content_type) {
  return error_response(
      415,
      "the Content-Type " + quote(content_type) + " is not that of a picture",
      "send the picture itself as the body with the header "
      "'Content-Type: image/png' or 'image/jpeg' (curl: -H "
      "'Content-Type: image/png')");
}

/// Why a request that needs a token is refused. An address that tried too many
/// is not let in with the right one either, or trying could go on; but for
/// this machine, where a web server may stand for all its clients.
std::optional<HttpResponse> check_token(const HttpRequest& head,
                                        const CallRules& rules) {
  const bool tries = !head.authorization.empty();
  const bool is_right = has_token(head.authorization, rules.token);
  const bool may_pass = is_right && head.client.empty();
  if (tries && !may_pass && rules.wrong_tokens != nullptr &&
      rules.wrong_tokens->too_many(head.client)) {
    return error_response(429, "too many wrong tokens came from this address",
                          "wait a moment, and check the token");
  }
  if (is_right) return {};
  if (tries && rules.wrong_tokens != nullptr) {
    rules.wrong_tokens->count(head.client);
  }
  return error_response(401, "this server wants a token",
                        "send the header 'Authorization: Bearer TOKEN' with "
                        "the token that the server was started with");
}

/// Browsers say where a request comes from. A page of another site could not
/// read the answer, but would make this machine work for it.
bool is_cross_site(const HttpRequest& head) {
  return !head.fetch_site.empty() && head.fetch_site != "same-origin" &&
         head.fetch_site != "none";
}

/// With HEAD, which the server hands on as a GET.
std::string methods_of(const Route& route) {
  return route.method == std::string_view("GET") ? "GET, HEAD" : route.method;
}

/// Reads the parameters into the call; says what is wrong with one.
std::string read_query(const CallRules& rules, Call& call) {
  const Route& route = *call.match.route;
  const auto& query = call.target.query;
  for (const auto& [name, value] : query) {
    if (std::find(route.parameters.begin(), route.parameters.end(), name) ==
        route.parameters.end()) {
      return "there is no parameter " + quote(name) + " here";
    }
  }
  const bool is_picture = route.kind == RouteKind::kPicture;
  const char* name = is_picture ? "size" : "k";
  const int64_t lo = is_picture ? kSmallestSide : 1;
  const int64_t hi = is_picture ? kLargestSide : rules.most_neighbours;
  call.number = is_picture ? kUsualSide : std::min(kUsualNeighbours, hi);
  if (const auto found = query.find(name); found != query.end()) {
    const std::optional<int64_t> number = parse_count(found->second);
    if (!number || *number < lo || *number > hi) {
      return std::string(name) + " must be a whole number from " +
             std::to_string(lo) + " to " + std::to_string(hi);
    }
    call.number = *number;
  }
  const auto label = query.find("label");
  if (label == query.end() || label->second.empty()) return "";
  call.label = label->second;
  if (rules.has_class(call.label)) return "";
  return "the index has no class " + quote(call.label);
}

}  // namespace

HttpResponse not_a_picture() {
  return error_response(415, "this is not a PNG or JPEG picture",
                        "send the picture itself as the body, as a PNG or "
                        "JPEG file");
}

std::optional<HttpResponse> read_call(const HttpRequest& head,
                                      const CallRules& rules, Call& call) {
  std::optional<Target> target = parse_target(head.target);
  if (!target) {
    return error_response(400, "the address is malformed",
                          "see docs/serve.md for the addresses there are");
  }
  call.target = std::move(*target);
  const std::optional<RouteMatch> match = match_route(call.target.path);
  if (!match) {
    return error_response(404, "there is nothing at this address",
                          "see docs/serve.md for the addresses there are");
  }
  call.match = *match;
  const Route& route = *match->route;
  const std::vector<std::string>& path = call.target.path;
  if (!path.empty() && path[0] == "api" && is_cross_site(head)) {
    return error_response(403, "pages of other sites cannot use this server",
                          "open the server's own page");
  }
  if (!rules.token.empty() && !route.is_open) {
    if (auto refusal = check_token(head, rules)) return refusal;
  }
  if (head.method != route.method) {
    HttpResponse response = error_response(
        405, "the method " + quote(head.method) + " is not for this address",
        std::string("use ") + route.method);
    response.headers.emplace_back("Allow", methods_of(route));
    return response;
  }
  if (head.method == "GET" && head.body_bytes > 0) {
    return error_response(400, "a GET request has no body", "leave it out");
  }
  if (head.method == "POST" && !is_picture_type(head.content_type)) {
    return wrong_type(head.content_type);
  }
  if (match->position >= 0 && !rules.has_item(match->position)) {
    return error_response(
        404, "the index has no item " + std::to_string(match->position),
        "it may have been removed: search again");
  }
  const std::string fault = read_query(rules, call);
  if (fault.empty()) return {};
  return error_response(400, fault, "see docs/serve.md for the parameters");
}

}  // namespace kith
