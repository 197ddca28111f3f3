#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kith/index/stored_index.h"
#include "kith/serve/http.h"

namespace kith {

/// 200 with a JSON body. Paths and labels come from files and need not be UTF-8
/// (see json_text).
HttpResponse json_answer(const nlohmann::ordered_json& json);

/// {"position", "label", "path", "image"} of an item.
HttpResponse item_answer(const StoredIndex& index, int64_t position);

/// The same of an item by chance that is not removed; 404 if there is none.
HttpResponse any_item_answer(const StoredIndex& index);

/// {"results": [...], "milliseconds"} with the hits in their order.
HttpResponse hits_answer(const StoredIndex& index,
                         const std::vector<SearchHit>& hits, double seconds);

/// A file of the page that the server shows.
struct PageFile {
  std::string_view content_type;
  std::string_view contents;
};

/// The file of this name, such as "index.html"; nothing if there is none.
std::optional<PageFile> find_page_file(std::string_view name);

}  // namespace kith
