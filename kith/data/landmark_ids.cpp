#include "kith/data/landmark_ids.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith {

void check_landmark_id(const std::string& id, const std::string& where) {
  constexpr size_t kMaxSize = 200;  // names of files end at 255
  const bool fits = std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (fits && id.size() >= 3 && id.size() <= kMaxSize) return;
  throw DataError(where + ": " + quote(id) +
                  " is not the id of an image, such as 6e158a47eb2ca3f6");
}

std::string sharded_path(const std::string& id) {
  return std::string() + id[0] + "/" + id[1] + "/" + id[2] + "/" + id + ".jpg";
}

}  // namespace kith
