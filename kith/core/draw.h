#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/rng.h"

namespace kith {

/// `most` different numbers of [0, n), or all n if there are no more, in random
/// order. O(most) time and memory. Takes one number below n, n - 1, ... of
/// `rng` for each.
std::vector<int64_t> draw_distinct(int64_t n, int64_t most, Rng& rng);

}  // namespace kith
