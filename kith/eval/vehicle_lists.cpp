#include "kith/eval/vehicle_lists.h"

#include "kith/core/error.h"

namespace kith {

std::vector<VehicleList> vehicle_lists(const ImageList& list, Split split,
                                       const std::string& protocol) {
  std::vector<VehicleList> found;
  int64_t number = 0;
  for (const char* name : {"small", "medium", "large"}) {
    VehicleList images = {number++, name, {}};
    const auto entry = list.lists.find(name);
    if (entry == list.lists.end()) continue;
    for (const int64_t i : entry->second) {
      if (list.items.at(static_cast<size_t>(i)).split == split) {
        images.images.push_back(i);
      }
    }
    if (!images.images.empty()) found.push_back(std::move(images));
  }
  // Training classes that are held out are in none of the published lists.
  if (found.empty() && split == Split::kValidation) {
    found.push_back({number, "validation", list.of_split(split)});
  }
  if (found.empty()) {
    throw DataError("protocol '" + protocol +
                    "' needs lists 'small', 'medium' or 'large', and the " +
                    split_name(split) +
                    " split has none of them; use a data set with VehicleID's "
                    "lists, or a column 'lists' in dataset.csv");
  }
  return found;
}

}  // namespace kith
