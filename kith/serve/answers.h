#pragma once

#include <cstdint>
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

}  // namespace kith
