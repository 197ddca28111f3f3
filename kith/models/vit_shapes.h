#pragma once

#include <string>
#include <vector>

#include "kith/models/pretrained_input.h"
#include "kith/models/vision_transformer.h"

namespace kith {

/// A published vision transformer.
struct VitShape {
  std::string name;
  std::string summary;
  VitOptions options;
  std::vector<std::string> aliases;
  PretrainedInput input;
};

/// All that are known, registered as shapes of `vit`.
const std::vector<VitShape>& vit_shapes();

}  // namespace kith
