#include "kith/core/draw.h"

#include <algorithm>
#include <unordered_map>

namespace kith {

// Fisher-Yates on 0, 1, ..., n - 1, of which only what has moved is stored.
std::vector<int64_t> draw_distinct(int64_t n, int64_t most, Rng& rng) {
  const int64_t count = std::min(most, n);
  std::unordered_map<int64_t, int64_t> moved;
  const auto value_at = [&moved](int64_t position) {
    const auto found = moved.find(position);
    return found == moved.end() ? position : found->second;
  };
  std::vector<int64_t> drawn;
  drawn.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t chosen = rng.between(i, n - 1);
    drawn.push_back(value_at(chosen));
    moved[chosen] = value_at(i);
  }
  return drawn;
}

}  // namespace kith
