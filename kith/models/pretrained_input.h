#pragma once

#include <string>

#include "kith/core/config.h"
#include "kith/data/input.h"

namespace kith {

/// Says what the published weights of a backbone were trained on, where that is
/// not ImageNet's RGB. Kept by the backbone's own file:
///
///     const bool input_added = add_pretrained_input("bn_inception", {...});
bool add_pretrained_input(const std::string& backbone, PretrainedInput input);

/// The input of the published weights of a `model.backbone` section.
PretrainedInput pretrained_input(const ConfigNode& backbone);

}  // namespace kith
