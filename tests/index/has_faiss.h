#pragma once

#include "kith/core/error.h"
#include "kith/index/faiss_index.h"

namespace kith {

/// Whether kith is built with faiss.
inline bool has_faiss() {
  try {
    require_faiss("");
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace kith
