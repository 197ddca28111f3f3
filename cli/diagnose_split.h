#pragma once

#include <string>

#include "kith/core/progress.h"
#include "kith/eval/embedded_split.h"

namespace kith {

/// The diagnostics of a split as one JSON object: of each part of the protocol
/// (of several draws, the first), and the near duplicates of its images among
/// the training images.
std::string diagnose_split(const EmbeddedSplit& split, const DataSet& data,
                           int64_t memory_mb, Progress& progress);

}  // namespace kith
