#pragma once

#include <cstdint>
#include <string>

#include "kith/core/progress.h"
#include "kith/eval/embedded_split.h"

namespace kith {

struct DiagnoseSplitOptions {
  int64_t memory_mb = 512;  ///< For blocks.
  int64_t threads = 1;      ///< That read pictures.
};

/// The diagnostics of a split as one JSON object: of each part of the protocol
/// (of several draws, the first), and the near duplicates of its images among
/// the training images.
std::string diagnose_split(const EmbeddedSplit& split, const DataSet& data,
                           const DiagnoseSplitOptions& options = {},
                           Progress& progress = silent_progress());

}  // namespace kith
