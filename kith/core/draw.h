#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/rng.h"

namespace kith {

/// `count` different numbers of [0, n), in random order. O(count) time and
/// memory. Takes one number below n, n - 1, ... of `rng` for each.
std::vector<int64_t> draw_distinct(int64_t n, int64_t count, Rng& rng);

}  // namespace kith
