#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kith/serve/http.h"
#include "kith/serve/route_table.h"
#include "kith/serve/target.h"
#include "kith/serve/wrong_tokens.h"

namespace kith {

/// A request that has been understood.
struct Call {
  RouteMatch match;
  Target target;
  int64_t number = 0;  ///< k, or the size of a picture.
  std::string label;   ///< Of the class to search in; empty: all.
};

/// What a request is checked against.
struct CallRules {
  std::string token;                    ///< Empty: nobody needs one.
  WrongTokens* wrong_tokens = nullptr;  ///< Null: any number may be tried.
  int64_t most_neighbours = 100;
  std::function<bool(int64_t)> has_item;
  std::function<bool(const std::string&)> has_class;
};

/// Reads a request, whose body need not be there yet, into `call`. Returns why
/// it is refused; nothing if it is not. call.match.route is null if there is
/// none.
std::optional<HttpResponse> read_call(const HttpRequest& head,
                                      const CallRules& rules, Call& call);

/// 415 for what is neither a PNG nor a JPEG.
HttpResponse not_a_picture();

}  // namespace kith
