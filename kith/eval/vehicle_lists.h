#pragma once

#include <string>
#include <vector>

#include "kith/data/image_list.h"

namespace kith {

/// One of VehicleID's lists of test images.
struct VehicleList {
  int64_t number = 0;  ///< 0: small, 1: medium, 2: large.
  std::string name;
  std::vector<int64_t> images;  ///< Positions in the data set's list, rising.
};

/// Those of the lists small, medium and large that have images in the split.
/// DataError if none has; `protocol` is the one that wants them.
std::vector<VehicleList> vehicle_lists(const ImageList& list, Split split,
                                       const std::string& protocol);

}  // namespace kith
