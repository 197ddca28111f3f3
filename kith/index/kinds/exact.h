#pragma once

#include <memory>
#include <string>

#include "kith/index/vector_index.h"

namespace kith {

/// The index of kind exact in a file; see load_vector_index.
std::unique_ptr<VectorIndex> load_exact_index(const std::string& path,
                                              int64_t memory_mb,
                                              c10::Device device,
                                              const FileSums& sums);

}  // namespace kith
