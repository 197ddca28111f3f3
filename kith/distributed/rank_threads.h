#pragma once

#include <cstdint>

#include "kith/distributed/launch.h"

namespace kith {

/// Threads for a rank that shares its machine: OMP_NUM_THREADS where that is
/// set; the cores that mpirun or srun gave to this process alone; else its
/// share of all.
int64_t threads_of_rank(const RankPlace& place);

}  // namespace kith
