#include "kith/samplers/draw.h"

#include <algorithm>

#include "kith/core/error.h"

namespace kith {

// Fisher-Yates on 0, 1, ..., n - 1, of which only what has moved is stored.
std::vector<int64_t> draw_distinct(int64_t n, int64_t count, Rng& rng) {
  KITH_ASSERT(count <= n);
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

int64_t ClassDraw::draw(size_t c, Rng& rng) {
  const std::vector<int64_t>& members = (*classes_)[c];
  std::vector<size_t>& drawn = drawn_[c];
  if (drawn.size() == members.size()) drawn.clear();
  // The number of a place among those not drawn becomes its position.
  auto position = static_cast<size_t>(rng.below(members.size() - drawn.size()));
  auto next = drawn.begin();
  for (; next != drawn.end() && *next <= position; ++next) ++position;
  drawn.insert(next, position);
  return members[position];
}

void ClassDraw::take(size_t c, int64_t image) {
  const std::vector<int64_t>& members = (*classes_)[c];
  const auto found = std::find(members.begin(), members.end(), image);
  KITH_ASSERT(found != members.end());
  const auto position = static_cast<size_t>(found - members.begin());
  std::vector<size_t>& drawn = drawn_[c];
  drawn.insert(std::lower_bound(drawn.begin(), drawn.end(), position),
               position);
}

}  // namespace kith
