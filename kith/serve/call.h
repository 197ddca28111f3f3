#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/serve/deadline.h"
#include "kith/serve/http.h"
#include "kith/serve/route_table.h"
#include "kith/serve/served_index.h"
#include "kith/serve/target.h"
#include "kith/serve/wrong_tokens.h"

namespace kith {

/// A request that has been understood.
struct Call {
  RouteMatch match;
  Target target;
  ServedIndex* index = nullptr;    ///< That the address means.
  ServedIndex::Snapshot snapshot;  ///< Of it, for all of the answer.
  int64_t number = 0;              ///< k, or the size of a picture.
  std::string label;  ///< Of the class to search in; empty: all. Or of new
                      ///< items.
  std::string id;     ///< Of an item.
  Deadline deadline = kNoDeadline;

  /// What the addresses of the index's items begin with: "/api".
  std::string base() const;
};

/// What a request is checked against.
struct CallRules {
  std::string token;  ///< Empty: nobody needs one.
  bool allow_changes = false;
  WrongTokens* wrong_tokens = nullptr;  ///< Null: any number may be tried.
  int64_t most_neighbours = 100;
  const ServedIndexes* indexes = nullptr;  ///< At least one.
};

/// Reads a request, whose body need not be there yet, into `call`. Returns why
/// it is refused; nothing if it is not. call.match.route is null if there is
/// none.
std::optional<HttpResponse> read_call(const HttpRequest& head,
                                      const CallRules& rules, Call& call);

/// Reads the parameters of call.target into the call; says what is wrong with
/// one, in words for bad_request().
std::string read_parameters(const CallRules& rules, Call& call);

/// What is wrong with the id or the label of a new item; empty if nothing is.
std::string check_id(const std::string& id);
std::string check_label(const std::string& label);

/// 400 if a fault is not empty.
std::optional<HttpResponse> bad_request(const std::string& fault);

}  // namespace kith
