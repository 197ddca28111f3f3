#pragma once

#include <cstdint>
#include <vector>

namespace kith {

/// Gallery items whose rank is wanted: of query first + i, the items
/// items[offsets[i]] to items[offsets[i + 1] - 1], in any order.
struct RankedPairs {
  int64_t first = 0;
  std::vector<int64_t> offsets = {0};
  std::vector<int64_t> items;
  /// The similarity at which each item is placed; empty: its own. An item of
  /// the position N comes behind all of its similarity.
  std::vector<float> similarities = {};

  int64_t queries() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

}  // namespace kith
