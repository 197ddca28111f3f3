#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kith/serve/call.h"
#include "kith/serve/http.h"
#include "kith/serve/item_changer.h"

namespace kith {

/// 200 with a JSON body. Paths and labels come from files and need not be UTF-8
/// (see json_text).
HttpResponse json_answer(const nlohmann::ordered_json& json);

/// {"position", "id", "label", "path", "image"} of the item that a call is for,
/// or of any.
HttpResponse item_answer(const Call& call, int64_t position);

/// The same of an item by chance that is not removed; 404 if there is none.
HttpResponse any_item_answer(const Call& call);

/// The same of the item with the id of the call; 404 if there is none.
HttpResponse find_item_answer(const Call& call);

/// {"classes": [{"label", "count"}]}
HttpResponse classes_answer(const Call& call);

/// {"results": [...], "milliseconds"} with the hits in their order; of an index
/// with a threshold also "threshold" and whether any hit is "accepted", which
/// each says of itself.
HttpResponse hits_answer(const Call& call, const std::vector<SearchHit>& hits,
                         double seconds);

/// What became of a change.
HttpResponse change_answer(const Call& call, const ChangeOutcome& outcome);

/// What is told of an exception that is not the client's fault: the details are
/// for the log.
HttpResponse problem_answer(const std::exception_ptr& error);

/// A file of the page that the server shows.
struct PageFile {
  std::string_view content_type;
  std::string_view contents;
};

/// The file of this name, such as "index.html"; nothing if there is none.
std::optional<PageFile> find_page_file(std::string_view name);

}  // namespace kith
