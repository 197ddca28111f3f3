#include <algorithm>
#include <map>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "kith/eval/protocols.h"

namespace kith {
namespace {

/// Galleries drawn of each list, as published, the same in every evaluation.
constexpr int64_t kGalleryDraws = 10;
constexpr uint64_t kGallerySeed = 0;

/// One of VehicleID's lists of test images.
struct VehicleList {
  int64_t number = 0;  ///< 0: small, 1: medium, 2: large, 3: validation.
  std::string name;
  std::vector<int64_t> images;  ///< Positions in the data set's list, rising.
};

/// Those of the lists small, medium and large that have images in the split; if
/// none has, one list of all images of a validation split, for it is made of
/// training classes, and a DataError for the others. `protocol` is the one that
/// wants the lists.
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

/// A vehicle with one image is in the gallery and gives no query.
EvalTask draw_task(const ImageList& list, const VehicleList& part,
                   int64_t draw) {
  std::map<int64_t, std::vector<int64_t>> vehicles;
  for (const int64_t i : part.images) {
    vehicles[list.items[static_cast<size_t>(i)].label].push_back(i);
  }
  Rng rng(kGallerySeed, Stream::kProtocol, {part.number, draw});
  EvalTask task;
  task.name = part.name;
  for (const auto& entry : vehicles) {
    const std::vector<int64_t>& images = entry.second;
    const size_t chosen = rng.below(images.size());
    for (size_t i = 0; i < images.size(); ++i) {
      (i == chosen ? task.gallery : task.queries).push_back(images[i]);
    }
  }
  std::sort(task.gallery.begin(), task.gallery.end());
  std::sort(task.queries.begin(), task.queries.end());
  return task;
}

}  // namespace

std::vector<EvalTask> VehicleIdProtocol::tasks(const ImageList& list,
                                               Split split) const {
  std::vector<EvalTask> tasks;
  for (const VehicleList& part : vehicle_lists(list, split, "vehicleid")) {
    tasks.push_back({part.name, part.images, part.images});
  }
  return tasks;
}

KITH_REGISTER(protocol_registry(), "vehicleid", VehicleIdProtocol);

std::vector<EvalTask> VehicleIdReidProtocol::tasks(const ImageList& list,
                                                   Split split) const {
  std::vector<EvalTask> tasks;
  for (const VehicleList& part : vehicle_lists(list, split, "vehicleid_reid")) {
    for (int64_t draw = 0; draw < kGalleryDraws; ++draw) {
      tasks.push_back(draw_task(list, part, draw));
    }
  }
  return tasks;
}

KITH_REGISTER(protocol_registry(), "vehicleid_reid", VehicleIdReidProtocol);

}  // namespace kith
