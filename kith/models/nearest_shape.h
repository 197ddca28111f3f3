#pragma once

#include <map>
#include <string>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// Options that a weight file tells of its network, by their names: lists, and
/// single numbers as lists of one.
using FoundOptions = std::map<std::string, std::vector<int64_t>>;

/// The shape of a family ("regnet") whose options differ least, in words:
/// "regnet_y_400mf (depths 1, 3, 6, 6; widths 48, 104, 208, 440)". Empty if
/// nothing was found.
std::string nearest_shape(const std::string& family, const FoundOptions& found);

/// How many blocks tensors begin with: one more than the largest number behind
/// one of `prefixes` ("layer1." of "layer1.2.conv1.weight"). At most 1000.
int64_t count_blocks(const NamedTensors& weights,
                     const std::vector<std::string>& prefixes);

/// The size of a tensor of at least `dimension` + 1 dimensions; 0: there is
/// none of this name.
int64_t size_in(const NamedTensors& weights, const std::string& name,
                int64_t dimension = 0);

}  // namespace kith
