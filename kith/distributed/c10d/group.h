#pragma once

// What differs in LibTorch's c10d between the versions that kith is built with,
// and nothing else.

#include "kith/core/torch_compat.h"

#if KITH_TORCH_AT_LEAST(2, 0)
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace kith {

/// What ProcessGroupGloo and ProcessGroupNCCL are, and the work they return.
#if KITH_TORCH_AT_LEAST(2, 0)
using C10dGroup = c10d::Backend;
#else
using C10dGroup = c10d::ProcessGroup;
#endif
#if KITH_TORCH_AT_LEAST(1, 13)
using C10dWork = c10d::Work;
#else
using C10dWork = c10d::ProcessGroup::Work;
#endif

}  // namespace kith
