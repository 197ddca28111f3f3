#include "kith/serve/call.h"

#include <algorithm>
#include <utility>

#include "kith/core/quote.h"
#include "kith/serve/access.h"
#include "kith/serve/multipart.h"

namespace kith {
namespace {

constexpr int64_t kUsualNeighbours = 12;
/// Until a wrong token is called one, for each that was wrong of late: at most
/// half a second.
constexpr double kWrongTokenSeconds = 0.5 / WrongTokens::kAtOnce;
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
      "the Content-Type " + quote(content_type) +
          " is neither that of a picture nor of a form",
      "send a form with the file 'image' (curl -F image=@photo.jpg), or the "
      "picture itself as the body with the header 'Content-Type: image/jpeg'");
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
  HttpResponse refusal =
      error_response(401, "this server wants a token",
                     "send the header 'Authorization: Bearer TOKEN' with "
                     "the token that the server was started with");
  if (tries && rules.wrong_tokens != nullptr) {
    refusal.delay_seconds =
        kWrongTokenSeconds * rules.wrong_tokens->count(head.client);
  }
  return refusal;
}

/// Browsers say where a request comes from. A page of another site could not
/// read the answer, but would make this machine work for it.
bool is_cross_site(const HttpRequest& head) {
  return !head.fetch_site.empty() && head.fetch_site != "same-origin" &&
         head.fetch_site != "none";
}

/// Without a token anybody on this machine, a page in a browser too, could
/// change an index: then nobody may.
std::optional<HttpResponse> check_changes(const CallRules& rules) {
  if (rules.allow_changes && !rules.token.empty()) return {};
  return error_response(403, "this server does not let clients change an index",
                        "docs/serve.md says how one is started that does");
}

std::optional<HttpResponse> find_index(const CallRules& rules, Call& call) {
  const std::string& name = call.match.index;
  for (const auto& index : *rules.indexes) {
    if (!name.empty() && index->options().name != name) continue;
    call.index = index.get();
    call.snapshot = index->now();
    return {};
  }
  return error_response(404, "there is no index " + quote(name),
                        "GET /api/indexes tells which there are");
}

/// A number of the query, or what is wrong with it.
std::string read_number(const Call& call, const char* name, int64_t lo,
                        int64_t hi, int64_t& number) {
  const auto found = call.target.query.find(name);
  if (found == call.target.query.end()) return "";
  const std::optional<int64_t> given = parse_count(found->second);
  if (!given || *given < lo || *given > hi) {
    return std::string(name) + " must be a whole number from " +
           std::to_string(lo) + " to " + std::to_string(hi);
  }
  number = *given;
  return "";
}

bool is_new_item(const Route& route) {
  return route.kind == RouteKind::kAddItems ||
         route.kind == RouteKind::kPutItem;
}

/// The body must be of a kind that the route takes.
std::optional<HttpResponse> check_body(const HttpRequest& head,
                                       const Route& route) {
  if (route.body == RouteBody::kNone) {
    if (head.body_bytes == 0) return {};
    return error_response(400, "a " + head.method + " request has no body",
                          "leave it out");
  }
  if (is_form(head.content_type) || is_picture_type(head.content_type)) {
    return {};
  }
  return wrong_type(head.content_type);
}

}  // namespace

std::string Call::base() const {
  return match.index.empty() ? "/api" : "/api/indexes/" + match.index;
}

std::string check_id(const std::string& id) {
  if (is_item_id(id)) return "";
  return "the id " + quote(id) +
         " must be 1 to 100 letters, digits, '.', '_' and '-', not '.' first";
}

std::string check_label(const std::string& label) {
  constexpr size_t kMostBytes = 200;
  const bool is_plain = std::none_of(label.begin(), label.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (is_plain && is_utf8(label) && label.size() <= kMostBytes) return "";
  return "label must be UTF-8 of at most " + std::to_string(kMostBytes) +
         " bytes on one line";
}

std::string read_parameters(const CallRules& rules, Call& call) {
  const Route& route = *call.match.route;
  const auto& query = call.target.query;
  for (const auto& [name, value] : query) {
    if (!route.takes(name)) {
      return "there is no parameter " + quote(name) + " here";
    }
  }
  for (const RouteParameter& parameter : route.parameters) {
    const auto found = query.find(std::string(parameter.name));
    if (parameter.is_needed && (found == query.end() || found->second.empty()))
      return "the parameter '" + std::string(parameter.name) + "' is needed";
  }
  const bool is_picture = route.kind == RouteKind::kPicture;
  call.number = is_picture ? kUsualSide
                           : std::min(kUsualNeighbours, rules.most_neighbours);
  std::string fault =
      is_picture
          ? read_number(call, "size", kSmallestSide, kLargestSide, call.number)
          : read_number(call, "k", 1, rules.most_neighbours, call.number);
  if (!fault.empty()) return fault;
  if (const auto id = query.find("id"); id != query.end()) {
    call.id = id->second;
    if (is_new_item(route)) fault = check_id(call.id);
  }
  if (!fault.empty()) return fault;
  const auto label = query.find("label");
  if (label == query.end() || label->second.empty()) return "";
  call.label = label->second;
  if (is_new_item(route)) return check_label(call.label);
  if (call.snapshot->classes.contains(call.label)) return "";
  return "the index has no class " + quote(call.label);
}

std::optional<HttpResponse> bad_request(const std::string& fault) {
  if (fault.empty()) return {};
  return error_response(400, fault, "see docs/serve.md for the parameters");
}

std::optional<HttpResponse> read_call(const HttpRequest& head,
                                      const CallRules& rules, Call& call) {
  std::optional<Target> target = parse_target(head.target);
  if (!target) {
    return error_response(400, "the address is malformed",
                          "see docs/serve.md for the addresses there are");
  }
  call.target = std::move(*target);
  std::optional<RouteMatch> match = match_route(call.target.path, head.method);
  if (!match) {
    return error_response(404, "there is nothing at this address",
                          "see docs/serve.md for the addresses there are");
  }
  call.match = std::move(*match);
  const Route& route = *call.match.route;
  if (route.path.starts_with("/api/") && is_cross_site(head)) {
    return error_response(403, "pages of other sites cannot use this server",
                          "open the server's own page");
  }
  if (!rules.token.empty() && route.access != RouteAccess::kOpen) {
    if (auto refusal = check_token(head, rules)) return refusal;
  }
  if (!call.match.has_method) {
    HttpResponse response = error_response(
        405, "the method " + quote(head.method) + " is not for this address",
        "use " + call.match.allowed);
    response.headers.emplace_back("Allow", call.match.allowed);
    return response;
  }
  if (route.access == RouteAccess::kChange) {
    if (auto refusal = check_changes(rules)) return refusal;
  }
  if (auto refusal = check_body(head, route)) return refusal;
  if (auto refusal = find_index(rules, call)) return refusal;
  const int64_t position = call.match.position;
  if (position >= 0 && !call.snapshot->has_item(position)) {
    return error_response(404,
                          "the index has no item " + std::to_string(position),
                          "it may have been removed: search again");
  }
  return bad_request(read_parameters(rules, call));
}

}  // namespace kith
