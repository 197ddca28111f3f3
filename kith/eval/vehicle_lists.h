#pragma once

#include <string>
#include <vector>

#include "kith/data/image_list.h"

namespace kith {

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
                                       const std::string& protocol);

}  // namespace kith
