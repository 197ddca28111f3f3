#pragma once

#include <string>

#include "kith/data/data_set.h"

namespace kith {

/// "rgb" if a picture to train on or to validate with has colours, otherwise
/// "grey". At most kColourSamples are looked at, spread evenly over the list,
/// and none after the first that has. Files of three channels may be grey:
/// those of a scanner, for one.
std::string find_colour(const DataSet& data);

constexpr int64_t kColourSamples = 64;

}  // namespace kith
