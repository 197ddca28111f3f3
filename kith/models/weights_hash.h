#pragma once

#include <string>

#include "kith/core/tensor.h"

namespace kith {

/// SHA-256 of tensors: their names, types, shapes and values, in order. Of a
/// network's state() it is the same for a checkpoint and an export of it, on
/// any device, so that an index knows the network it was made with.
std::string weights_hash(const NamedTensors& tensors);

}  // namespace kith
