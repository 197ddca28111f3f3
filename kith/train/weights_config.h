#pragma once

#include <string>

#include "kith/core/config.h"
#include "kith/models/weight_files.h"

namespace kith {

/// The files of `model.weights`; none if they cannot be found, which is told
/// when they are read.
WeightFiles weight_files_of(const ConfigNode& config);

/// Where `model.weights` is a folder of Hugging Face or timm (see
/// find_weight_files), gives the configuration the network and the input that
/// the files beside the weights describe, where it does not say otherwise:
/// `model.backbone`, and `size`, `resize`, `filter`, `colour`, `mean` and `std`
/// of `model.input`. Returns a line about what was taken; empty: nothing. A
/// complete configuration leaves nothing open, so no file is looked at.
std::string take_weights_config(ConfigNode& user);

/// A section of `parent`, made if it is not there, for defaults to be put into;
/// null if it is no map, which is told elsewhere.
ConfigNode* open_section(ConfigNode& parent, const char* key);

}  // namespace kith
