#pragma once

#include <memory>
#include <string>

#include "kith/data/corruption.h"

namespace kith {

/// The corruption that one line of YAML describes: "{name: jpeg}".
inline std::unique_ptr<Corruption> corruption(const std::string& yaml) {
  return corruption_registry().make(parse_config(yaml, "r.yaml"), "corruption");
}

}  // namespace kith
