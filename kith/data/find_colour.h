#pragma once

#include <string>

#include "kith/data/data_set.h"

namespace kith {

/// Says which colour the pictures of a data set have, for one that draws them.
/// Kept by the data set's own file:
///
///     const bool colour_added = add_colour("glyphs", "grey");
bool add_colour(const std::string& name, const std::string& colour);

/// The colour of a data set that knows it without its pictures, "grey" or
/// "rgb"; "auto" for all others.
std::string usual_colour(const std::string& data_set);

/// "rgb" if a picture to train on or to validate with has colours, otherwise
/// "grey". At most kColourSamples are looked at, spread evenly over the list,
/// and none after the first that has. Files of three channels may be grey:
/// those of a scanner, for one.
std::string find_colour(const DataSet& data);

constexpr int64_t kColourSamples = 64;

}  // namespace kith
