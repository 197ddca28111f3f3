#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kith/core/rng.h"

namespace kith {

/// `most` of the places 0 to count - 1, or all, each at most once and as
/// likely as any other, in the order in which they are drawn. Not those of
/// draw_distinct(): reports of old runs show what this draws.
inline std::vector<int64_t> draw_places(int64_t count, int64_t most, Rng rng) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), int64_t{0});
  rng.shuffle(places);
  places.resize(static_cast<size_t>(std::min(most, count)));
  return places;
}

}  // namespace kith
